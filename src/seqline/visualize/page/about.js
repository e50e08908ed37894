// One paragraph and one formula a view: what the picture shows, in English and Chinese.
const PAGE_ABOUT = {
  timeline: {
    formula: "hₜ = f(xₜ, hₜ₋₁)   then   sₙ = g(yₙ₋₁, sₙ₋₁, cₙ)",
    en: "Who runs when. The encoder reads the source one step at a time; then the decoder writes one token a step and feeds it back to itself. The dark column is the present step; arrows below show what it reads and writes.",
    zh: "谁在什么时候运行。编码器一步一步读入源句，然后解码器每步写出一个词元，并把它作为下一步的输入。深色的一列是当前步；下方的箭头表示它读什么、写什么。",
  },
  diagram: {
    formula: "x + Sublayer(x), layer after layer",
    en: "The whole model as boxes: what goes in, which parts follow one another, and where residual lines go around them.",
    zh: "整个模型的方框图：输入是什么、各部分的先后顺序，以及残差线在哪里绕过它们。",
  },
  compare: {
    formula: "Δ = a − b, cell by cell",
    en: "Two recordings of one sentence side by side. Where both have the same tokens, the difference is drawn with zero in white.",
    zh: "同一句子的两份记录并排放置。两边词元相同时画出差值，零为白色。",
  },
  card: {
    formula: "model = layer + encoder + bridge + reads memory + score + window + positions",
    en: "What was recorded: the architecture as its seven choices, its parts and their sizes, how it decoded, and the checks that the recording passed.",
    zh: "记录了什么：架构的七项选择、各部分及其大小、解码方式，以及记录通过的检查。",
  },
  embed: {
    formula: "xₜ = E[idₜ]  ( = one-hot(idₜ) · E )",
    en: "Each token is a row number in a table. Its row of learned numbers is the vector that enters the model.",
    zh: "每个词元是表中的一个行号。该行中学到的数就是进入模型的向量。",
  },
  rnn: {
    formula: "hₜ = tanh(W xₜ + U hₜ₋₁ + b)",
    en: "The hidden state over time: one row a unit, one column a step. Each column is made only from the present input and the column before it.",
    zh: "隐藏状态随时间的变化：每行一个单元，每列一步。每一列只由当前输入和前一列算出。",
  },
  lstm: {
    formula: "cₜ = f ⊙ cₜ₋₁ + i ⊙ g      hₜ = o ⊙ tanh(cₜ)\nGRU: n = tanh(W xₜ + b + r ⊙ (U hₜ₋₁ + b′))      hₜ = (1 − z) ⊙ n + z ⊙ hₜ₋₁",
    en: "One cell in beats. The memory line keeps a share of its past (forget gate) and takes in something new (input gate); the output gate decides what of it can be seen outside. Because the line is only scaled and added to, gradients survive many steps.",
    zh: "一个单元的几个节拍。记忆线保留一部分过去（遗忘门），并写入新的内容（输入门）；输出门决定其中多少能被外面看到。记忆线只被缩放和相加，所以梯度可以存活很多步。",
  },
  bi: {
    formula: "hᵢ = [ h→ᵢ ; h←ᵢ ]",
    en: "Two encoders read the sentence from both ends. Their states are joined at each position, so that every position knows the whole sentence.",
    zh: "两个编码器从两端读句子。每个位置把两者的状态拼接起来，于是每个位置都了解整个句子。",
  },
  context: {
    formula: "fixed: c = h_S      attention: cₙ = Σᵢ αₙᵢ hᵢ",
    en: "What the decoder knows of the source at each output. A fixed context is one vector, however long the sentence, given once or again at every step; attention makes a new one for each output.",
    zh: "解码器在每个输出时对源句知道些什么。固定的上下文无论句子多长都是一个向量，只给一次或每步都给；注意力为每个输出重新计算一个。",
  },
  align: {
    formula: "αₙᵢ = softmaxᵢ( score(sₙ, hᵢ) )",
    en: "Each row is a produced token, each column a token that could be read. A cell is the share of attention; every row adds up to 1. Nothing is rescaled unless the legend says so.",
    zh: "每行是一个输出词元，每列是一个可读的词元。格子表示注意力的份额，每行之和为 1。除非图例说明，否则不做任何缩放。",
  },
  lines: {
    formula: "width of a line = αₙᵢ",
    en: "The same weights as lines from word to word. Choose a word on either side to see what it reads, or who reads it.",
    zh: "同样的权重画成词与词之间的连线。在任意一侧选一个词，就能看到它读谁、谁读它。",
  },
  heads: {
    formula: "headₕ = softmax(Qₕ Kₕᵀ / √d) Vₕ",
    en: "Every layer and head as a small map. Heads of one layer read side by side and often learn different habits: the previous word, the same word, the sentence end.",
    zh: "每一层每一头都是一张小图。同一层的各头同时读取，常常学到不同的习惯：前一个词、同一个词、句尾。",
  },
  qkv: {
    formula: "softmax(q·kᵀ / √d + mask) · V",
    en: "The numbers of one query: dot products with all keys, division by √d, the mask, the softmax, and the weighted sum of the values.",
    zh: "一个查询的全部数字：与所有键的点积、除以 √d、掩码、softmax，以及值的加权和。",
  },
  pe: {
    formula: "PE(p, 2i) = sin(p / 10000^(2i/d))     PE(p, 2i+1) = cos(…)",
    en: "Attention alone does not know order. A pattern that differs for each position is added to the embeddings; near positions get similar patterns.",
    zh: "注意力本身不知道顺序。于是给嵌入加上每个位置各不相同的模式；相近的位置模式相似。",
  },
  kv: {
    formula: "step n: one new key and value; n − 1 reused",
    en: "The cache keeps the keys and values of all earlier tokens, so that a step computes only its own. It grows with every token, and so does its memory. A recurrent model has none: it carries a state of one size.",
    zh: "缓存保存以前所有词元的键和值，所以每一步只算自己的。它随每个词元增长，占用的内存也一样。循环模型没有它：只传递大小不变的状态。",
  },
  ttt: {
    formula: "Wₜ = Wₜ₋₁ − η ∇ℓ(Wₜ₋₁; xₜ)",
    en: "The state is itself a small model that is trained on the sentence while reading it. The inner loss of a token should fall after its own step.",
    zh: "状态本身就是一个小模型，边读句子边在句子上训练。一个词元自己的更新之后，它的内部损失应当下降。",
  },
  softmax: {
    formula: "p(w) = exp(zᵥ / τ) / Σᵥ exp(zᵥ / τ)",
    en: "From scores to one token. The output layer gives every token of the vocabulary a score; the softmax turns scores into shares. A low temperature makes the leader win, a high one levels the field.",
    zh: "从得分到一个词元。输出层给词表中每个词元一个得分，softmax 把得分变成份额。温度低时领先者胜出，温度高时差距变小。",
  },
  beam: {
    formula: "score = Σ log p / length^α",
    en: "The search keeps the few best beginnings at every step. Dashed nodes were dropped; the thick path is the answer.",
    zh: "搜索在每一步只保留最好的几个开头。虚线节点已被丢弃，粗线路径是答案。",
  },
  grad: {
    formula: "∂L/∂hₜ = Π ∂hₖ₊₁/∂hₖ · ∂L/∂h_N",
    en: "How much the loss still feels a state many steps back. A product of many factors either fades (vanishing) or grows (exploding); gates and attention keep a way open.",
    zh: "损失还能感觉到多少步以前的状态。许多因子的乘积不是消失就是爆炸；门和注意力保留了一条通路。",
  },
  train: {
    formula: "θ ← θ − η ∇L(θ)",
    en: "Loss over training steps, and the attention of one fixed sentence at several moments of training.",
    zh: "损失随训练步数的变化，以及同一句子的注意力在训练不同时刻的样子。",
  },
  series: {
    formula: "ŷ₊₁…ŷ₊z = f(y₋ₖ₊₁ … y₀)",
    en: "A forecast from a history of any length. Move the history length and see what the forecast gains or loses.",
    zh: "由任意长度的历史作出预测。移动历史长度，看看预测得到什么、失去什么。",
  },
  lag: {
    formula: "gₖ = ∂ŷ / ∂yₜ₋ₖ₊₁",
    en: "How much history counts: the slope of a forecast with respect to each value that was read, by how long ago it was. It holds the whole way from the value to the forecast, the scaling of the history too.",
    zh: "历史的作用有多大：预测对读入的每个值的斜率，按时间远近排列。它包含从值到预测的全部路径，也包括对历史的缩放。",
  },
};
