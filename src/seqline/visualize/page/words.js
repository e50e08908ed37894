// Every word of the page that does not depend on the step: the list of views, the menu, the help and the notices.
const WORDS_KEYS = [
  "keyArrows", "keySpace", "keyHome", "keyLayer", "keyHead", "keyPin", "keyEnter", "keyTable", "keyExport", "keyHelp", "keyEscape",
];

function wordsFill(studio) {
  const { shared, themeButton, langButton } = studio;
  const lang = studio.figure.lang2();
  const say = (key, values) => pageSay(lang, key, values);
  for (const element of document.querySelectorAll("[data-say]")) element.textContent = say(element.dataset.say);
  for (const element of document.querySelectorAll("[data-say-label]")) {
    element.setAttribute("aria-label", say(element.dataset.sayLabel));
    if (element.tagName !== "NAV" && element.tagName !== "ASIDE") element.title = say(element.dataset.sayLabel);
  }
  studio.search.placeholder = say("search");
  langButton.lang = lang === "zh" ? "en" : "zh-Hans";
  const theme = { undefined: "themeAuto", light: "themeLight", dark: "themeDark" }[shared.theme];
  themeButton.setAttribute("aria-label", say(theme));
  themeButton.title = say(theme);
  themeButton.dataset.mode = shared.theme ?? "auto";
  wordsNav(studio, say, lang);
  wordsExport(studio, say);
  wordsHelp(studio, say);
  wordsNotices(studio, say);
  wordsPicker(studio);
}

function wordsNav({ nav, trace }, say, lang) {
  const placed = new Set(PAGE_GROUPS.flatMap(([, views]) => views));
  const others = Object.keys(SCENES).filter((view) => !placed.has(view));
  const groups = PAGE_GROUPS.map(([key, views], i) => [key, i ? views : [...views, ...others]]);
  nav.replaceChildren(...groups.map(([key, views]) => {
    const items = views.filter((view) => view in SCENES).map((view) => wordsNavItem(trace, view, say, lang));
    items.sort((a, b) => Number(a.dataset.off) - Number(b.dataset.off));
    const able = items.some((item) => item.firstChild.getAttribute("aria-disabled") !== "true");
    return figureMake("section", { class: able ? "group" : "group off" }, [figureMake("h2", { text: say(key) }), figureMake("ul", {}, items)]);
  }).filter((group) => group.querySelector("li")));
}

function wordsNavItem(trace, view, say, lang) {
  const { title } = SCENES[view].meta;
  const lack = view === "compare" && trace.schema !== "bundle/1" ? say("missingKind") : figureLacks(trace, view);
  const reason = lack && (lack === say("missingKind") ? lack : say("missingBlock", { path: lack.split("|")[0] }));
  const button = figureMake("button", { type: "button", "data-view": view, "aria-disabled": reason ? "true" : null }, [
    figureMake("span", { text: (title[lang] ?? title.en).split(/[:：]/)[0] }),
  ]);
  if (reason) button.append(figureMake("small", { text: reason }));
  return figureMake("li", { "data-off": reason ? "1" : "0" }, [button]);
}

function wordsExport(studio, say) {
  const items = [
    ["svg", say("exportSvg")], ...[1, 2, 3].map((n) => [`png${n}`, say("exportPng", { n })]), ["csv", say("exportCsv")],
    ["md", say("exportMarkdown")], ["link", say("exportLink")], ["gif", say("exportAnimation")],
  ];
  studio.exportMenu.querySelector("ul").replaceChildren(...items.map(([kind, text]) => {
    const button = figureMake("button", { type: "button", "data-export": kind, text });
    button.addEventListener("click", () => studio.export(kind));
    return figureMake("li", {}, [button]);
  }));
}

function wordsHelp({ help }, say) {
  help.querySelector("ul").replaceChildren(...WORDS_KEYS.map((key) => {
    const [stroke, ...rest] = say(key).split("  ");
    return figureMake("li", {}, [figureMake("kbd", { text: stroke }), ` ${rest.join(" ")}`]);
  }));
}

function wordsNotices({ config, notices }, say) {
  const { missing, fontNote, font } = config;
  const notes = [];
  if (missing?.chars?.length) notes.push(say("glyphs", { chars: missing.chars.join(" "), fix: missing.fix }));
  if (fontNote) notes.push(say("fontsNotEmbedded", { fonts: [].concat(font).join(", "), fix: fontNote }));
  notices.replaceChildren(...notes.map((text) => figureMake("p", { class: "notice", role: "status", text })));
}

function wordsPicker({ picker, shared, trace }) {
  const bundle = trace?.schema === "bundle/1";
  picker.parentElement.hidden = !bundle;
  if (!bundle) return;
  picker.replaceChildren(...trace.traces.map((one, i) => figureMake("option", { text: trace.labels?.[i] ?? one.model.arch, value: i, selected: i === shared.m })));
}
