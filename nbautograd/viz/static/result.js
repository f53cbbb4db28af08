import { bare, IS_NUMBER } from "./numbers.js";

const RESULTS = 4; // limit of the leaves, or terms of a leaf, on one line

/** What the passes left, in a line. */
export function resultOf(player, state) {
  const { drawn, history, stacks, t } = player, rows = drawn.leaves.map(({ id, name }) => [name, state.ledger.get(id)])
    .filter(([, row]) => row?.after);
  const several = rows.find(([, { terms = [] }]) => terms.length > 1), wrong = history.wrong();
  const brief = ({ after, terms }) => [after, ...terms.map(([value]) => value)].every((text) => IS_NUMBER.test(text));
  if (stacks.several) return stacks.told();
  const some = (names) => names.slice(0, RESULTS).join(", ") + (names.length > RESULTS ? ", …" : "");
  if (wrong) return t("rest_not_finite", { ...wrong, names: some(wrong.names) });
  if (several && brief(several[1]) && several[1].before === "None") {
    const [name, { after, terms }] = several, about = { name, value: bare(after), count: terms.length };
    if (terms.length > RESULTS) return t("rest_sum", about);
    return t("rest_paths", { ...about, terms: terms.map(([value]) => bare(value)).join(" + ") });
  }
  const written = rows.filter(([, row]) => brief(row)).slice(0, RESULTS);
  if (written.length === rows.length && rows.length) {
    return written.map(([name, { after }]) => `${name}.grad = ${bare(after)}`).join(" · ");
  }
  return rows.length ? t("rest_leaves", { names: some(rows.map(([name]) => name)) }) : t("before_caption");
}
