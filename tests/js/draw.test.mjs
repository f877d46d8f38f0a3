import assert from "node:assert/strict"
import test from "node:test"
import {
  colorRamp, decodeHalves, elide, graphemes, halfToFloat, halvesToFloats, isDark, parseColor, rampColor, shortNumber,
  strength, triIndex, triSize,
} from "../../assets/js/draw.mjs"
import { packHalves } from "./helpers.mjs"

test("halves decode to the numbers of IEEE 754", () => {
  const known = [[0x3c00, 1], [0xc000, -2], [0x7bff, 65504], [0x0400, 2 ** -14], [0x0001, 2 ** -24], [0x3555, 0.333251953125], [0, 0], [0x7c00, Infinity]]
  for (const [bits, value] of known) assert.equal(halfToFloat(bits), value)
  assert.ok(Number.isNaN(halfToFloat(0x7e00)))
})

test("base64 travels there and back", () => {
  const values = [0, 1, -1, 0.5, 0.25, 1 / 3, 1000, 6e-8]
  const halves = decodeHalves(packHalves(values))
  const floats = halvesToFloats(halves, 1, 6)
  assert.equal(floats.length, 6)
  values.slice(1, 7).forEach((value, i) => assert.ok(Math.abs(floats[i] - value) <= Math.abs(value) / 2048))
})

test("a packed triangle is row-major with r + 1 cells in row r", () => {
  let next = 0
  for (let row = 0; row < 20; row++) for (let col = 0; col <= row; col++) assert.equal(triIndex(row, col), next++)
  assert.equal(triSize(20), next)
})

test("the three scales agree at 0 and 1, never fall, and lift small weights in this order", () => {
  for (const scale of ["linear", "sqrt", "log"]) {
    assert.equal(strength(0, scale), 0)
    assert.equal(strength(1, scale), 1)
    for (let w = 0; w < 1; w += 0.01) assert.ok(strength(w + 0.01, scale) >= strength(w, scale))
  }
  assert.ok(strength(0.01, "linear") < strength(0.01, "sqrt"))
  assert.ok(strength(0.01, "sqrt") < strength(0.01, "log"))
  assert.equal(strength(1e-4, "log"), 0)
  assert.equal(strength(-1, "sqrt"), 0)
})

test("colours are read in the forms that browsers report", () => {
  for (const css of ["#0072b2", "#0072B2ff", "rgb(0, 114, 178)", "rgba(0,114,178,1)", "rgb(0 114 178 / 50%)"]) {
    assert.deepEqual(parseColor(css), [0, 114, 178])
  }
  assert.deepEqual(parseColor("#fff"), [255, 255, 255])
  assert.ok(isDark(parseColor("#101418")) && !isDark(parseColor("#ffffff")))
})

test("a ramp runs from near the ground to the full colour, and a computed zero is not the ground", () => {
  const ramp = colorRamp("#ffffff", "#000000")
  assert.equal(rampColor(ramp, 1), "rgb(0,0,0)")
  assert.notEqual(rampColor(ramp, 0), "rgb(255,255,255)")
  assert.equal(rampColor(ramp, 7), rampColor(ramp, 1))
})

test("text is shortened between what people see as characters", () => {
  const family = "👨‍👩‍👧"
  assert.equal(graphemes(`a${family}e\u0301`).length, 3)
  const fits = (text) => graphemes(text).length <= 3
  assert.equal(elide("abc", fits), "abc")
  assert.equal(elide("abcdef", fits), "ab…")
  assert.equal(elide(`${family}${family}${family}${family}`, fits), `${family}${family}…`)
  assert.equal(elide("abc", () => false), "…")
})

test("numbers stay short and keep their sign", () => {
  assert.equal(shortNumber(-3.14159), "−3.142")
  assert.equal(shortNumber(12345.6), "12346")
  assert.equal(shortNumber(0.00001234), "1.2e−5")
  assert.equal(shortNumber(-Infinity), "−∞")
  assert.equal(shortNumber(0), "0")
})
