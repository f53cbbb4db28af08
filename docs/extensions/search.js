// Part of the site's search: see searching.py.

// The words of a query, as in the index: Chinese in pairs of neighboring characters.
var splitQuery = (query) => {
  const words = query.replace(/[\u4e00-\u9fff]+/g, " ").split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/gu);
  for (const run of query.match(/[\u4e00-\u9fff]+/g) || [])
    for (let at = 0; at < Math.max(1, run.length - 1); at++) words.push(run.slice(at, at + 2));
  return words.filter((word) => word);
};

// The language of the results: that of the page where the search began, or of the query.
const searchParameters = new URLSearchParams(window.location.search);
const searchQuery = searchParameters.get("q") || "";
const searchIsChinese = searchParameters.get("lang") === "zh" || /[\u4e00-\u9fff]/.test(searchQuery);
const isChinesePage = (name) => /(^|\/)zh\//.test(name) || name === "course_zh";

// A message has several words, or is the name of an exception. Its explanation comes first, then the FAQ.
const searchIsMessage = /\w+Error\b/.test(searchQuery) || searchQuery.trim().split(/\s+/).length > 3;
const ERRORS = /^errors$/, QUESTIONS = /^(zh\/)?faq$/;

var Scorer = {
  score: ([name, title, , description, score, , kind]) => {
    if (searchIsMessage && ERRORS.test(name)) return score + 200;
    if (searchIsMessage && QUESTIONS.test(name)) return score + 100;
    if (kind === "object" && title.split(".").pop() === searchQuery.trim()) return score + 20 + (/method/.test(description) ? 5 : 0);
    if (/^(changelog|accuracy|guests|compatibility|modules)$/.test(name)) return score - 20;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

{
  const all = Search._performSearch;
  // The theme loads searchtools.js before this file. Results are shown from the last to the first: Chinese pages first
  // for a Chinese reader, no others for the rest.
  Search._performSearch = (...query) => {
    const results = all(...query);
    const chinese = results.filter(([name]) => isChinesePage(name));
    const english = results.filter(([name]) => !isChinesePage(name));
    return searchIsChinese ? (chinese.length ? chinese : english) : english;
  };
}

if (searchIsChinese) {
  document.documentElement.lang = "zh-CN";
  document.querySelectorAll(".sidebar-search").forEach((field) => {
    field.placeholder = "搜索";
    field.form.elements.lang.value = "zh";
  });
  Documentation.addTranslations({
    locale: "zh-CN",
    plural_expr: "0",
    messages: {
      "Search Results": "搜索结果",
      Searching: "正在搜索",
      "Preparing search...": "准备搜索……",
      "Search finished, found one page matching the search query.": "找到 ${resultCount} 页。",
      "Search finished, found ${resultCount} pages matching the search query.": "找到 ${resultCount} 页。",
    },
  });
}
