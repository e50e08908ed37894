// Language, theme, contents, and the two things that move beside the figures: the slider and the buttons.
(function () {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("tour-data").textContent);
  const at = (name) => document.getElementById(name);

  function speak(short) {
    root.lang = short === "zh" ? "zh-Hans" : "en";
    document.title = data.titles[short];
    showLength();
  }

  function wordOf(name) {
    const holder = at("length-words").content.querySelector(`[data-word="${name}"]`);
    return holder.querySelector(root.lang.startsWith("zh") ? ".t-zh" : ".t-en").textContent;
  }

  function make(tag, className, children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  }

  function showLength() {
    const slider = at("length-slider");
    const item = data.sentences[Number(slider.value)];
    if (!item) return;
    const now = `${item.length} ${wordOf("words")}`;
    at("length-now").textContent = now;
    slider.setAttribute("aria-valuetext", now);
    const rows = [];
    const given = (label, text, lang) => {
      const told = make("div", "given", [text]);
      told.lang = lang;
      rows.push(make("div", "who", [wordOf(label)]), told);
    };
    given("source", item.source, "fr");
    given("reference", item.reference, "en");
    for (const output of item.outputs) {
      const words = output.words.flatMap(([text, same]) => [make("span", same ? "" : "off", [text]), " "]);
      if (output.cut) words.push(`… (${wordOf("cut")})`);
      const told = make("div", "", words);
      told.lang = "en";
      rows.push(make("div", "who", [make("code", "", [output.model])]), told);
    }
    at("length-said").replaceChildren(...rows);
  }

  const slider = at("length-slider");
  slider.max = String(Math.max(0, data.sentences.length - 1));
  slider.value = String(Math.max(0, data.sentences.findIndex((item) => item.length >= 12))); // where the first ones falter
  slider.addEventListener("input", showLength);

  at("tour-lang").addEventListener("click", () => speak(root.lang.startsWith("zh") ? "en" : "zh"));
  at("tour-theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });

  for (const holder of document.querySelectorAll(".live")) {
    const figure = holder.querySelector("seq-figure");
    for (const button of holder.querySelectorAll("[data-set]")) {
      button.addEventListener("click", () => {
        figure.set(JSON.parse(button.dataset.set));
        for (const other of button.parentElement.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
      });
    }
  }
  for (const tabs of document.querySelectorAll(".tabs")) {
    const shown = tabs.parentElement.querySelectorAll(".live");
    for (const button of tabs.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        shown.forEach((live, n) => { live.hidden = String(n) !== button.dataset.tab; });
        for (const other of tabs.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
      });
    }
  }

  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const [name, link] of links) {
        if (name === entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-30% 0px -65% 0px" });
  document.querySelectorAll(".chapter").forEach((chapter) => watcher.observe(chapter));

  const asked = new URLSearchParams(location.search).get("lang");
  const wish = asked || navigator.language || "en";
  speak(wish.toLowerCase().startsWith("zh") ? "zh" : "en");
  document.fonts.ready.then(() => { document.body.dataset.ready = "1"; });
})();
