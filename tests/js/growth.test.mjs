import assert from "node:assert/strict"
import test from "node:test"
import { GrowthPainter, appendedAt, byteY, fittingTicks, growthLayout, laneY, risingBytes, stairCorners, tokenX } from "../../assets/js/growthchart.mjs"
import { continuesGrowth, wantedTokens } from "../../assets/js/growth.mjs"

const AXIS = { x_max: 112, y_max: 229376, x_ticks: [[0, "0"], [48, "48"], [96, "96"], [112, "112 tokens"]], y_ticks: [[0, "0 B"], [131072, "128 KiB"]] }
const room = { width: 800, height: 420, type: 14, axis: AXIS, nLayers: 4, nKvHeads: 2 }

/** A pen that only remembers what it was asked to draw. */
class Recorder {
  calls = []
  rect(...args) { this.calls.push(["rect", ...args]) }
  box(...args) { this.calls.push(["box", ...args]) }
  line(...args) { this.calls.push(["line", ...args]) }
  text(...args) { this.calls.push(["text", ...args]) }
  rects(fill) { return this.calls.filter((c) => c[0] === "rect" && c[5] === fill) }
}

const theme = { type: 14, mono: "m", sans: "s", ink: "ink", muted: "muted", faint: "faint", line: "line", soft: "soft", ground: "ground", new: "new", "new-text": "new-text", cached: "cached", "cached-text": "cached-text", k: "k", v: "v" }
const step = (context_len) => ({ context_len, in_use_bytes: context_len * 2048, in_use_text: `${2 * context_len} KiB`, allocated_bytes: 524288 })
const payload = {
  n_layers: 4, n_kv_heads: 2, block_size: 16, per_token_bytes: 2048, n_prompt: 34,
  axes: { run: AXIS, context: { ...AXIS, x_max: 256, y_max: 524288 } },
  words: { bytes: "bytes", reserved: "r", reserved_short: "rs", key: { in_use: "a", formula: "b", blocks: "c" }, short_key: { in_use: "a", formula: "b", blocks: "c" }, lanes: [["k", "K"], ["v", "V"], ["new", "new"]], lanes_title: "t" },
  steps: [step(34), step(35), step(36)],
}
const painted = (index, ms, span = "run") => {
  const painter = new GrowthPainter(payload, span, theme)
  const pen = new Recorder()
  const lay = painter.layout({ width: 800, height: 420 })
  painter.paint(pen, lay, index, ms)
  return { pen, lay }
}

test("curve and blocks share one token axis and stay inside the picture", () => {
  const lay = growthLayout(room)
  assert.equal(tokenX(lay, 0), lay.left)
  assert.ok(Math.abs(tokenX(lay, 112) - (lay.left + lay.chartWidth)) < 1e-9)
  assert.ok(Math.abs(byteY(lay, AXIS.y_max) - lay.top) < 1e-9)
  assert.ok(lay.lanesTop > lay.axisY)
  assert.ok(laneY(lay, 3, 1, 2) + 2 * lay.strip <= lay.lanesTop + lay.lanesHeight + 1e-9)
  assert.ok(lay.legendY < lay.height)
})

test("lanes of different heads and layers never overlap, on a phone either", () => {
  for (const size of [{ width: 800, height: 420 }, { width: 340, height: 430 }, { width: 300, height: 240 }]) {
    const lay = growthLayout({ ...room, ...size })
    let end = -Infinity
    for (let layer = 0; layer < 4; layer++) {
      for (let head = 0; head < 2; head++) {
        assert.ok(laneY(lay, layer, head, 2) >= end)
        end = laneY(lay, layer, head, 2) + 2 * lay.strip
      }
    }
  }
})

test("the stair is whole blocks: never under the line, at most one block less one token above it", () => {
  const corners = stairCorners(16, 2048, 37)
  assert.deepEqual(corners, [[0, 32768], [16, 32768], [16, 65536], [32, 65536], [32, 98304], [37, 98304]])
  for (const [tokens, bytes] of corners.filter((_, i) => i % 2)) {
    assert.ok(bytes >= tokens * 2048 && bytes - tokens * 2048 <= 15 * 2048)
  }
})

test("layers append one after the other and are all there before the step rests", () => {
  assert.equal(appendedAt(0, 4, 0), 0)
  assert.ok(appendedAt(0, 4, 200) > appendedAt(1, 4, 200))
  assert.deepEqual([0, 1, 2, 3].map((layer) => appendedAt(layer, 4, 750)), [1, 1, 1, 1])
})

test("the newest point rises from where the last one stands to the measured bytes, exactly", () => {
  assert.equal(risingBytes(69632, 71680, 0), 69632)
  assert.equal(risingBytes(69632, 71680, 1200), 71680)
})

test("a decode step draws blue in 2 × layers × heads places, prefill none", () => {
  const blocks = (index) => painted(index, 1200).pen.rects("new").filter((c) => c[6] === undefined)
  assert.equal(blocks(2).length, 2 * 4 * 2)
  assert.equal(blocks(0).length, 0)
})

test("a frame is a pure function of payload, step and time: stepping back draws the same", () => {
  const there = painted(1, 1200).pen.calls
  painted(2, 300)
  assert.deepEqual(painted(1, 1200).pen.calls, there)
})

test("what was cached does not move when the next token comes", () => {
  const keys = (index) => painted(index, 1200).pen.rects("k").slice(0, 34).map(String)
  assert.deepEqual(keys(1), keys(2))
})

test("the reserved line is drawn where it fits and named with an arrow where it does not", () => {
  const dashed = (pen) => pen.calls.some((c) => c[0] === "line" && String(c[7]) === "6,4")
  assert.ok(!dashed(painted(1, 1200, "run").pen))
  assert.ok(painted(1, 1200, "run").pen.calls.some((c) => c[0] === "text" && c[1].startsWith("↑")))
  assert.ok(dashed(painted(1, 1200, "context").pen))
})

test("labels of the token axis keep apart, and the last one always stays", () => {
  const lay = growthLayout({ ...room, width: 330 })
  const ticks = fittingTicks([[0, "0"], [16, "16"], [32, "32"], [96, "96"], [112, "112 tokens"]], lay)
  assert.deepEqual(ticks.at(-1), [112, "112 tokens", true])
  assert.ok(!ticks.some(([tokens]) => tokens === 96))
})

test("a longer run of the same tokens keeps the step, another prompt does not", () => {
  const run = { n_prompt: 2, tokens: ["a", "b", "c"] }
  assert.ok(continuesGrowth(run, { n_prompt: 2, tokens: ["a", "b", "c", "d"] }))
  assert.ok(!continuesGrowth(run, { n_prompt: 2, tokens: ["a", "x", "c"] }))
  assert.ok(!continuesGrowth(run, { n_prompt: 3, tokens: ["a", "b", "c"] }))
  assert.ok(!continuesGrowth(null, run))
})

test("more rows are asked for only where the run can grow", () => {
  const stop = (reason, more) => ({ n_prompt: 34, steps: Array(17), stop: { reason, more } })
  assert.equal(wantedTokens(stop("steps", true)), 34 + 16 + 16)
  assert.equal(wantedTokens(stop("steps", false)), 0)
  assert.equal(wantedTokens(stop("end", true)), 0)
})
