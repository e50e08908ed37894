// Every word of the live panel, in English and Chinese, and the names of languages that a text may be in.
const LIVE_STRINGS = {
  en: {
    intro: "Choose one run or several, type a sentence: every part that runs comes up below, step by step. Then click another candidate, or set a row of attention, and watch the rest change.",
    ask: "Ask the models", text: "Text", hint: "Type a sentence, then press Enter", hintModel: "Type the beginning of a text, then press Enter",
    go: "Look inside", runs: "Runs", beam: "Beam", beamOwn: "as trained ({n})", beamGreedy: "1, greedy", tokens: "Tokens", temperature: "Temperature", seed: "Seed",
    sourceLanguage: "Language", targetLanguage: "Into", unsaid: "not said", setRow: "Set an attention row", rowOf: "Output word", rowReads: "reads only",
    rowWhere: "in", rowAll: "all layers and heads", rowOne: "layer {layer}, head {head}", rowLayer: "layer {layer}, all heads", rowApply: "Set the row",
    rowShares: "Own weights", rowSum: "used as shares of their sum, {sum}", rowNothing: "at least one weight must be above 0", held: "Forced",
    heldToken: "step {step}: “{token}”", heldRow: "row {step} reads {what}", heldIn: "{what} ({model})", heldMixed: "own weights", remove: "Remove",
    working: "Working…", waiting: "{seconds} s until the next try: others are waiting", step: "{model}t {t} of {of}: {parts}{written}", wrote: ", writes “{word}”",
    done: "{n} steps in {seconds} s", chooseRun: "Choose at least one run.", chooseFewer: "At most 6 runs side by side.", blank: "Type a text first.",
    lost: "The server does not answer; is `seqline studio` still running?", exporting: "Making {name}…", exportFile: "{format} file",
    exportPage: "Page that opens offline (HTML)", exportTrace: "Recording (JSON)",
    encoder: "encoder", bridge: "bridge", attention: "attention", decoder: "decoder", output: "output", size: "{n} parameters",
  },
  zh: {
    intro: "选择一个或多个模型，输入一个句子：下方会一步一步显示每个部分的运行。然后点击另一个候选词元，或设定一行注意力，看看其余部分怎样变化。",
    ask: "向模型提问", text: "文本", hint: "输入一个句子，然后按回车", hintModel: "输入文本的开头，然后按回车",
    go: "看看内部", runs: "模型", beam: "束宽", beamOwn: "与训练时相同（{n}）", beamGreedy: "1，贪心", tokens: "词元数", temperature: "温度", seed: "随机种子",
    sourceLanguage: "语言", targetLanguage: "译成", unsaid: "未指定", setRow: "设定一行注意力", rowOf: "输出词", rowReads: "只读",
    rowWhere: "用于", rowAll: "所有层和所有头", rowOne: "第 {layer} 层第 {head} 头", rowLayer: "第 {layer} 层所有头", rowApply: "设定这一行",
    rowShares: "自定权重", rowSum: "按各自占总和 {sum} 的份额使用", rowNothing: "至少一个权重要大于 0", held: "已强制",
    heldToken: "第 {step} 步：“{token}”", heldRow: "第 {step} 行读取 {what}", heldIn: "{what}（{model}）", heldMixed: "自定权重", remove: "移除",
    working: "计算中……", waiting: "前面还有请求，{seconds} 秒后再试", step: "{model}第 {t} 步，共 {of} 步：{parts}{written}", wrote: "，写出“{word}”",
    done: "{n} 步，用时 {seconds} 秒", chooseRun: "请至少选择一个模型。", chooseFewer: "最多同时比较 6 个模型。", blank: "请先输入文本。",
    lost: "服务器没有回应；`seqline studio` 还在运行吗？", exporting: "正在生成 {name}……", exportFile: "{format} 文件",
    exportPage: "可离线打开的网页（HTML）", exportTrace: "记录（JSON）",
    encoder: "编码器", bridge: "桥", attention: "注意力", decoder: "解码器", output: "输出", size: "{n} 个参数",
  },
};

const LIVE_LANGUAGES = [
  ["ar", "العربية"], ["cs", "čeština"], ["de", "Deutsch"], ["en", "English"], ["es", "español"], ["fa", "فارسی"], ["fr", "français"], ["he", "עברית"],
  ["hi", "हिन्दी"], ["it", "italiano"], ["ja", "日本語"], ["ko", "한국어"], ["nl", "Nederlands"], ["pl", "polski"], ["pt", "português"], ["ru", "русский"],
  ["th", "ไทย"], ["tr", "Türkçe"], ["uk", "українська"], ["vi", "Tiếng Việt"], ["zh-Hans", "简体中文"], ["zh-Hant", "繁體中文"],
];

function liveSay(lang, key, values = {}) {
  const text = (LIVE_STRINGS[lang] ?? LIVE_STRINGS.en)[key] ?? LIVE_STRINGS.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
