// The playground's page. A link sets the text of the editor, or picks one of the listed programs; no program runs
// before the reader presses Run.
const place = document.querySelector(".nb-playground"), { language, lite } = place.dataset;
const part = (name) => place.querySelector(`[name=${name}]`);
const pick = part("program"), code = part("code"), run = part("run"), said = place.querySelector("[role=status]");
const picture = place.querySelector(".nb-playground-picture");
const LONGEST = 4000; // limit of the characters of a program in a link
const words = JSON.parse(place.querySelector("script").textContent);
const here = new URL("playground/", new URL(place.dataset.root, document.baseURI));
const { texts, schema, version, programs } = await (await fetch(new URL(`${language}.json`, here))).json();

/** Text as it is written in a fragment, and back; null for what is no such text. */
function written(text) {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function read(fragment) {
  try {
    const bytes = atob(fragment.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
  } catch {
    return null;
  }
}

function play(pass) {
  const player = document.createElement("nb-player"), data = document.createElement("script");
  data.type = "application/json";
  data.textContent = JSON.stringify({ schema, version, texts, ...pass });
  player.append(data);
  picture.replaceChildren(player);
}

const same = () => programs.find((each) => each.code === code.value.trim());

/** What the editor's text is: a listed program is played, of another it is said how it is. */
function edited() {
  const known = same();
  said.textContent = known ? words.leaves : lite ? words.press : words.copy;
  run.hidden = !lite || Boolean(known);
  pick.value = known?.name ?? "";
  if (known) play(known.pass);
  else picture.replaceChildren();
}

function follow() {
  const link = new URLSearchParams(location.hash.slice(1)), given = link.get("code");
  const text = given === null ? null : read(given)?.slice(0, LONGEST);
  code.value = text ?? (programs.find(({ name }) => name === link.get("program")) ?? programs[0]).code;
  edited();
  if (text && !same()) said.textContent = `${words.foreign} ${said.textContent}`;
}

const listed = document.createDocumentFragment();
for (const { name, title } of programs) listed.append(new Option(title, name));
pick.append(listed);
pick.addEventListener("change", () => {
  const chosen = programs.find(({ name }) => name === pick.value);
  if (!chosen) return;
  code.value = chosen.code;
  edited();
});
code.addEventListener("input", edited);

part("share").addEventListener("click", async () => {
  const known = same(), address = new URL(location.href);
  if (!known && code.value.length > LONGEST) { said.textContent = words.long; return; }
  address.hash = known ? `program=${known.name}` : `code=${written(code.value)}`;
  history.replaceState(null, "", address);
  await navigator.clipboard?.writeText(address.href).catch(() => {}); // otherwise it is in the address bar
  said.textContent = words.shared;
});

let worker = null;
run.addEventListener("click", () => {
  worker?.terminate(); // also a program that does not end
  worker = new Worker(new URL("playground_worker.mjs", here), { type: "module" });
  said.textContent = words.running;
  worker.onmessage = ({ data: { pass, error } }) => {
    said.textContent = error ?? words.leaves;
    if (pass) play(JSON.parse(pass));
  };
  worker.onerror = () => { said.textContent = words.failed; };
  worker.postMessage({ code: code.value, site: new URL(lite, here).href, language });
});
addEventListener("hashchange", follow);
follow();
