import { segmentText } from "./bucket.js";
import { s } from "./dom.js";
import { shortNumber } from "./numbers.js";

export const POUR = { high: 2.6, floor: 4, side: 12 }; // pixels: of a bar; from it to its box

/** On the floor of a leaf's box its .grad as a bar: what was there already, then term by term what arrives. */
export class Pours {
  constructor(player) { this.player = player; }

  paint(state) {
    const { player } = this, { drawn, predict, stacks, stage } = player;
    for (const { id, name } of drawn?.leaves || []) {
      const group = stage.part("node", id), stack = group && !predict.hides && stacks.stacks?.get(name);
      const parts = stack ? this.parts(stack, state.ledger.get(id)) : [];
      for (const old of group?.querySelectorAll(":scope > .nb-pour") || []) old.remove();
      if (parts.length) group.append(this.bar(parts, stacks.buckets.extents.get(name), stage.box(id)));
    }
  }

  /** Its parts, where there are several numbers to be seen: [what it is, how much, what is said of it]. */
  parts({ segments, waiting }, row) {
    const { stacks: { present }, t } = this.player, all = waiting ? [...segments, waiting] : segments;
    const single = all.every(({ amount, tile }) => Number.isFinite(amount) && tile?.cells.length === 1);
    const own = all.find(({ pass }) => pass === present), before = all.filter((segment) => segment !== own);
    const several = before.some(({ amount }) => amount) || row?.expected > 1;
    if (!single || !several) return [];
    const said = ({ amount, via }) => `${shortNumber(amount)} ${t("via", { name: via })}`;
    const terms = (own?.parts || []).map((part) => ["came", part.amount, said(part)]);
    return [...before.map((segment) => ["was", segment.amount, segmentText(segment, t)]), ...terms];
  }

  bar(parts, [low, high], { x, y, width, height }) {
    const scale = (width - 2 * POUR.side) / (high - low || 1), at = (amount) => x + POUR.side + (amount - low) * scale;
    let left = 0, right = 0;
    const bars = parts.map(([kind, amount, text]) => {
      const from = amount < 0 ? (left += amount) : right, wide = Math.max(Math.abs(amount) * scale - 1, 1);
      if (amount > 0) right += amount;
      const d = `M${at(from)} ${y + height - POUR.floor}h${wide}v${POUR.high}h${-wide}z`;
      return s("path", { class: `nb-pour-${kind}`, d }, s("title", {}, text));
    });
    const zero = `M${at(0) - 0.5} ${y + height - POUR.floor - 1}v${POUR.high + 2}`;
    return s("g", { class: "nb-pour", "aria-hidden": "true" }, ...bars,
      ...(low < 0 ? [s("path", { class: "nb-bucket-zero", d: zero })] : []));
  }
}
