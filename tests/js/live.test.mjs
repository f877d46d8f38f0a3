import assert from "node:assert/strict"
import test from "node:test"
import { LatencyPainter, latencyShare, liveLayout, seriesCorners, stackBoxes } from "../../assets/js/livechart.mjs"
import { chosenChart } from "../../assets/js/livecurves.mjs"
import { laneAt, tokensAt } from "../../assets/js/livefeel.mjs"
import { WaterfallPainter, barAt, waterfallLayout } from "../../assets/js/livewaterfall.mjs"

/** Without a canvas every letter is half as wide as it is high. */
globalThis.document ??= { createElement: () => ({ getContext: () => ({ set font(_) {}, measureText: (text) => ({ width: 7 * text.length }) }) }) }

/** A pen that only remembers what it was asked to draw. */
class Recorder {
  calls = []
  context = new Proxy({}, { get: (_, name) => (...args) => this.calls.push([name, ...args]), set: () => true })
  rect(...args) { this.calls.push(["rect", ...args]) }
  box(...args) { this.calls.push(["box", ...args]) }
  line(...args) { this.calls.push(["line", ...args]) }
  text(...args) { this.calls.push(["text", ...args]) }
  words() { return this.calls.filter((c) => c[0] === "text").map((c) => c[1]) }
}

const theme = new Proxy({ type: 14, mono: "m", sans: "s" }, { get: (all, name) => all[name] ?? String(name) })
const PARTS = [
  { label: "weight reads", value: "20 ms", kind: "measured", color: "weights", ms: 20 },
  { label: "K/V reads", value: "0.1 ms", kind: "modelled", color: "k", ms: 0.1 },
  { label: "the rest", value: "4 ms", kind: "measured", color: "line", ms: 4 },
]
const payload = (changes = {}) => ({
  axis: { max: 40, ticks: [[0, "0"], [20, "20"], [40, "40"]], label: "ms per token", first: "token 0", tokens: "8 tokens", often: "how often", beyond: "" },
  series: { ms: [24, 25, 60], per: 1, first: 0 }, histogram: { edges: [0, 20, 40], counts: [0, 2] },
  floors: [{ from: 0, to: 8, ms: 20.8 }], floor_label: "floor 20.8 ms (modelled)", planned: 8, parts: PARTS, parts_title: "Where the 24.1 ms go",
  overlays: [], running: true, ...changes,
})
const painted = (changes, room = { width: 900, height: 420 }) => {
  const painter = new LatencyPainter(payload(changes), theme)
  const pen = new Recorder()
  const lay = painter.layout(room)
  painter.paint(pen, lay)
  return { painter, pen, lay }
}

test("the three pictures stand side by side and none leaves the room", () => {
  for (const width of [330, 600, 900, 1300]) {
    const lay = liveLayout({ width, height: 400, type: 14, tickWidth: 24, wordWidth: 120, hasParts: true })
    assert.ok(lay.left + lay.stripWidth <= lay.histogramX)
    assert.ok(lay.histogramX + lay.histogramWidth <= lay.barX)
    assert.ok(lay.barX + lay.barWidth + lay.words <= width + 1)
    assert.equal(lay.words > 0, width > 560)
  }
})

test("strip, histogram, parts and floor share one axis", () => {
  const { lay, painter } = painted({})
  const boxes = stackBoxes(PARTS, lay, 40)
  assert.ok(Math.abs(boxes[0].y - painter.yOf(lay, 20)) < 1e-9)
  assert.ok(Math.abs(boxes[2].y - painter.yOf(lay, 24.1)) < 1.5)
  assert.ok(Math.abs(boxes[0].y + boxes[0].height - painter.yOf(lay, 0)) < 1e-9)
})

test("a part of no time at all takes no room, a tiny one is still seen", () => {
  const { lay } = painted({})
  const boxes = stackBoxes([{ ...PARTS[0], ms: 0 }, PARTS[1]], lay, 40)
  assert.equal(boxes[0].height, 0)
  assert.ok(boxes[1].height >= 1)
})

test("what lies beyond the axis is marked at its top, not dropped", () => {
  assert.equal(latencyShare(60, 40), 1)
  const { pen, lay } = painted({})
  const marks = pen.calls.filter((c) => c[0] === "rect" && c[5] === "limit-text")
  assert.equal(marks.length, 1)
  assert.ok(marks[0][2] < lay.top)
})

test("a series over fewer tokens than planned ends where it is", () => {
  const { lay } = painted({})
  const corners = seriesCorners({ ms: [1, 2], per: 2, first: 0 }, [1, 2], lay, 8, 40)
  assert.ok(Math.abs(corners[1][0] - (lay.left + (lay.stripWidth * 3) / 8)) < 1e-9)
})

test("the floor is named where it lies, also where it is the whole axis", () => {
  assert.ok(painted({}).pen.words().includes("floor 20.8 ms (modelled)"))
  const low = painted({ floors: [{ from: 0, to: 8, ms: 0.2 }] })
  const label = low.pen.calls.find((c) => c[0] === "text" && c[1].startsWith("floor"))
  assert.ok(label[3] < low.lay.top + low.lay.chartHeight)
})

test("every part says its time and its kind where there is room", () => {
  const words = painted({}).pen.words()
  for (const part of PARTS) assert.ok(words.includes(`${part.value} · ${part.kind}`))
  assert.ok(!painted({}, { width: 340, height: 340 }).pen.words().includes("the rest"))
})

test("words of the parts keep apart", () => {
  const places = painted({}).pen.calls.filter((c) => c[0] === "text" && PARTS.some((p) => p.label === c[1])).map((c) => c[3]).sort((a, b) => a - b)
  for (let i = 1; i < places.length; i++) assert.ok(places[i] - places[i - 1] >= 28)
})

test("the newest token has a dot only while it is measured", () => {
  const dots = (running) => painted({ running }).pen.calls.filter((c) => c[0] === "rect" && c[6] === 6).length
  assert.deepEqual([dots(true), dots(false)], [1, 0])
})

test("a frame is a pure function of the payload", () => {
  assert.deepEqual(painted({}).pen.calls, painted({}).pen.calls)
})

test("the pointer finds the token under it and nothing outside", () => {
  const { painter, lay } = painted({})
  const y = lay.top + 10
  assert.equal(painter.hit(lay, lay.left + (1.5 / 8) * lay.stripWidth, y), 1)
  assert.equal(painter.hit(lay, lay.left + 0.9 * lay.stripWidth, y), null)
  assert.equal(painter.hit(lay, lay.left - 5, y), null)
})

test("the text on screen follows from the time alone", () => {
  const lane = { times: [500, 750, 1000] }
  const pieces = ["A", " b", "."]
  assert.deepEqual(laneAt(lane, pieces, 499), { n: 0, phase: "waiting", text: "" })
  assert.deepEqual(laneAt(lane, pieces, 750), { n: 2, phase: "writing", text: "A b" })
  assert.deepEqual(laneAt(lane, pieces, 5000), { n: 3, phase: "done", text: "A b." })
  assert.equal(tokensAt([], 10), 0)
})

test("a lane with fewer times than text is done when its times are", () => {
  assert.equal(laneAt({ times: [1] }, ["a", "b"], 2).phase, "done")
})

test("operations lie in their lane, and the pointer finds even a hair-thin one", () => {
  const data = { lanes: [{ label: "products", color: "weights" }, { label: "rest", color: "line" }], axis: { max: 10, ticks: [[0, "0 ms"]] }, bars: [[0, 4, 0], [5, 0.0001, 1]], texts: ["mv", "add"] }
  const painter = new WaterfallPainter(data, theme)
  const lay = painter.layout({ width: 600, height: 190 })
  assert.equal(painter.hit(lay, lay.left + lay.chartWidth * 0.2, lay.top + 5), 0)
  assert.equal(painter.hit(lay, lay.left + lay.chartWidth * 0.5 + 1, lay.top + lay.laneHeight + 5), 1)
  assert.equal(painter.hit(lay, lay.left + lay.chartWidth * 0.8, lay.top + lay.laneHeight + 5), null)
  assert.equal(barAt(data.bars, 0, 4.5, 0.1), null)
  assert.ok(waterfallLayout({ width: 300, height: 190, type: 14, labelWidth: 400, nLanes: 4 }).chartWidth >= 40)
})

test("the chart and the scale chosen are kept where they exist", () => {
  const charts = [{ id: "latency", scales: { linear: {}, log: {} } }, { id: "fit", scales: { linear: {} } }]
  assert.deepEqual(chosenChart(charts, { view: "fit", scale: "log" }), { chart: charts[1], scale: "linear" })
  assert.deepEqual(chosenChart(charts, { view: "gone", scale: "log" }), { chart: charts[0], scale: "log" })
})
