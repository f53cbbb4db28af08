/** Where PyTorch begins to write powers of ten, and up to where a whole mean or norm is not rounded. */
const LEAST_PLAIN = 1e-4, MOST_PLAIN = 1e8, MOST_WHOLE = 1e6;

/** A number as all texts have it; `form`: of a tile's numbers. The same rule as `read/values.py`. */
export function shortNumber(value, form = "") {
  const number = Number(value);
  if (typeof value === "string" && !Number.isFinite(number)) return value.replace("-", "−"); // nan, inf, -inf
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number < 0 ? "−inf" : "inf";
  if (form === "b") return number ? "True" : "False";
  const shown = form === "d" ? number : roundedNumber(number, form === "m"), size = Math.abs(shown);
  const most = form === "m" ? MOST_WHOLE : MOST_PLAIN;
  const plain = form === "d" || !size || (size >= LEAST_PLAIN && size <= most);
  const text = plain ? String(size) : size.toExponential().replace("e+", "e").replace("e-", "e−");
  return (shown < 0 || Object.is(shown, -0) ? "−" : "") + text;
}

const PRINTED_NUMBER = /(?<![\w.)\]-])(-?)(\d+\.?\d*)(e[+-]\d+)?(?![\w.])|(?<![\w.)\]])-(?=inf)/g;

/** What the kernel has written as PyTorch prints it, as cells have it; whole numbers keep their point. */
export function drawnText(text) {
  return /\dj/.test(text) ? text : text.replace(PRINTED_NUMBER, (all, sign, digits, power = "") => {
    if (digits === undefined) return "−";
    const number = Number(digits + power), size = Math.abs(number); // may be rounded to one that has no power
    if (power && size >= LEAST_PLAIN && size <= MOST_PLAIN) {
      return (sign && "−") + number + (Number.isInteger(number) ? "." : "");
    }
    const short = /\.\d{4}$/.test(digits) ? digits.replace(/0+$/, "") : digits;
    return (sign && "−") + short + power.replace(/e([+-])0*/, (e, by) => (by === "-" ? "e−" : "e"));
  });
}

/** As PyTorch rounds it where it stands alone; a mean or a norm (`brief`) to three digits. */
function roundedNumber(number, brief = false) {
  const size = Math.abs(number), whole = Number.isInteger(number);
  if (whole && size <= (brief ? MOST_WHOLE : MOST_PLAIN)) return number;
  if (brief) return Number(number.toPrecision(3));
  if (size < LEAST_PLAIN || size > MOST_PLAIN) return Number(number.toExponential(4));
  const between = Number.isInteger(number * 32) && !Number.isInteger(number * 16); // two numbers of four decimals
  return between ? (2 * Math.round(number * 5000)) / 1e4 : Number(number.toFixed(4)); // rounds half to even
}

/** The texts of a tile's cells. */
export const textsOf = ({ cells, form }) => cells.map((value) => shortNumber(value, form));

/** A number without the point that PyTorch writes behind a whole one. */
export const bare = (text) => drawnText(text).replace(/\.$/, "");
export const IS_NUMBER = /^[−-]?([\d.]+(e[+-]?\d+)?|nan|inf)$/;
