import { middleOf } from "./camera.js";
import { fill, s } from "./dom.js";
import { isEdge, see } from "./links.js";
import { shortNumber } from "./numbers.js";

const LEAST_SPAN = 0.05; // powers of ten between the sizes that get a curve
const VANISHED = -99; // the size shown for zeros
const CURVE = { wide: 40, high: 11, least: 8 }; // limit of the sizes of gradients drawn as one line

const MANY_CELLS = 64; // tiles with more cells keep their numbers as shown
const ROUGH = 5e-5, LITTLE = 1e-3; // rounding error of these, and of a sum relative to its largest number

/** The lines of a view that stand for several gradients of one value: how many. */
function severalIn(view) {
  if (view.several) return view.several;
  const counts = new Map();
  for (const drawn of Object.values(view.stands || {}).filter(isEdge)) counts.set(drawn, (counts.get(drawn) || 1) + 1);
  const summed = view.edges.filter(([id, , , kind]) => kind === "flow" && !isMixed(view, id)), single = new Set();
  for (const [id] of summed) single.add(id);
  view.several = new Map([...counts].filter(([id]) => single.has(id)));
  return view.several;
}

/** Whether a line stands for gradients of several values, which have no sum. */
export const isMixed = (view, line) => !!view?.mixed?.includes(line);

/** The tile of a sum; null where the tensors cannot be added. */
function addedTile(one, other) {
  const alike = one && other && one.cells.length === other.cells.length && String(one.block) === String(other.block);
  if (!alike) return null;
  const cells = one.cells.map((cell, i) => Number(cell) + Number(other.cells[i]));
  const form = cells.length > MANY_CELLS ? "m" : one.form;
  return { shape: one.shape, columns: one.columns, block: one.block, form, cells: cells.map(asCell) };
}

/** A number that is not finite as tiles have it. */
const asCell = (number) => (Number.isFinite(number) ? number : shortNumber(number).replace("−", "-"));

/** Whether the terms of a sum are known so well that its tile can be told. */
function isKnown({ cells, block }, count) {
  return cells.length <= MANY_CELLS || !!block || count * ROUGH <= LITTLE * Math.max(...cells.map(Math.abs));
}

/** log10 of the root mean square of numbers. */
function sizeOfCells(cells) {
  const mean = cells.reduce((sum, cell) => sum + Number(cell) ** 2, 0) / cells.length;
  return mean ? Math.log10(mean) / 2 : VANISHED;
}

/** What has come by a step along each line that stands for several gradients: Map(line -> count, total, sizes). */
function foldedSums(history, index, view) {
  const scene = history.sceneAt(index), lines = severalIn(view), sums = new Map();
  for (const frame of history.frames.slice(0, index)) {
    if (frame.scene !== scene) continue;
    if (frame.kind === "start") sums.clear();
    for (const [id, [count, sizes]] of Object.entries(frame.sums || {})) sums.set(id, { count, sizes });
    for (const id of frame.sums || !lines.size ? [] : Object.keys(frame.labels || {})) {
      const line = see(view, id);
      if (!lines.has(line)) continue;
      const before = sums.get(line), tile = history.tiles[frame.tiles?.[id]] || null;
      const total = before ? addedTile(before.total, tile) : tile;
      sums.set(line, { count: (before?.count || 0) + 1, total, sizes: [...before?.sizes || [], frame.sizes?.[id]] });
    }
  }
  return sums;
}

/** Say of a state the sums: in the place of the last gradient that came along a line. */
export function addSums(state, history, index, view) {
  state.sums = view?.edges ? foldedSums(history, index, view) : new Map();
  for (const [line, { count, total: sum }] of state.sums) {
    if (count < 2 || sum === undefined || !state.labels.has(line)) continue;
    const total = sum && isKnown(sum, count) ? sum : null;
    const text = total?.cells.length === 1 ? shortNumber(total.cells[0]).replace("−", "-") : "Σ";
    const number = total ? history.addTile(`${view.label} ${line} ${index}`, total) : -1;
    state.labels.set(line, text);
    state.tiles.set(line, number);
    if (total) state.sizes.set(line, sizeOfCells(total.cells));
    if (state.frame?.labels?.[line] === undefined) continue;
    const { labels, tiles } = state.frame;
    state.frame = { ...state.frame, labels: { ...labels, [line]: text }, tiles: { ...tiles, [line]: number } };
  }
}

/** Beside a sum on a line, once it is there: of how many gradients it is, and of many, a curve of their sizes. */
export function paintSums(stage, state, travelling) {
  for (const element of stage.svg.querySelectorAll(".nb-sum-of")) element.remove();
  for (const [line, { count, sizes }] of state.sums || []) {
    const text = state.labels.get(line), box = text && count > 1 && stage.labelBox(line, text);
    const shown = box && !travelling?.has(line) && (state.active.has(line) || state.done.has(line));
    if (!shown) continue;
    const number = count.toLocaleString("en"), tile = stage.tiles.onEdge(state, line), isSign = text === "Σ" && !tile;
    const said = isSign ? number : `Σ ${number}`;
    const [center, middle] = middleOf(box), place = tile
      ? { x: center, y: box.y - 4, "text-anchor": "middle" } : { x: box.x - 4, y: middle + 4, "text-anchor": "end" };
    const parts = [s("title", {}, fill(stage.texts, "sum_of", { count })), s("text", place, said)];
    const after = box.x + box.width + 4;
    if (count >= CURVE.least) parts.push(...curveOf(sizes, after, middle));
    stage.covers.append(s("g", { class: "nb-sum-of" }, ...parts));
  }
}

/** The curve of the sizes of gradients, from a place on, over its floor; nothing where they are all alike. */
function curveOf(sizes, x, y) {
  const finite = sizes.filter((size) => size > -90), low = Math.min(...finite), span = Math.max(...finite) - low;
  if (!(span > LEAST_SPAN)) return [];
  const down = (size) => (0.5 - (Math.max(size, low) - low) / span) * CURVE.high;
  const d = sizes.map((size, i) => [x + (i / (sizes.length - 1 || 1)) * CURVE.wide, y + down(size)])
    .filter(([, at]) => Number.isFinite(at))
    .map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
  const floor = `M${x} ${y - CURVE.high / 2}v${CURVE.high + 2}h${CURVE.wide}`; // a line without a target
  return [s("path", { class: "nb-curve-floor", d: floor, fill: "none" }), s("path", { d, fill: "none" })];
}
