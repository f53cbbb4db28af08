/** Put a style sheet into the page, or into the shadow tree that hides an element from the page's; each only once. */
export function dress(element, key, text) {
  const root = element.getRootNode(), place = root instanceof ShadowRoot ? root : document;
  if (place.adoptedStyleSheets.some((sheet) => sheet.nbKey === key)) return;
  const sheet = Object.assign(new CSSStyleSheet(), { nbKey: key });
  sheet.replaceSync(text);
  place.adoptedStyleSheets = [...place.adoptedStyleSheets, sheet];
}
