// @ts-check
/** The present frame as a file: the same painters on a canvas of their own, or on an SVG pen. */
import { el, saveBlob } from "./dom.mjs"
import { CanvasPen, SvgPen } from "./pen.mjs"
import { wrapLines } from "./paint.mjs"

const MARGIN = 24
/** A picture for a slide: sharp, yet within what browsers allow a canvas to be. */
const SHARP = 2
const LARGEST_SIDE = 8192

/** A file name from words: letters, digits, dashes. @param {string} words @param {string} extension */
export const fileName = (words, extension) =>
  `${words.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "one-new-row"}.${extension}`

/** A picture that fills a fixed size, as `paintFrame` wants its painters: no legend and no rail of its own. */
export class StillPicture {
  /**
   * @param {any} painter with `layout({ width, height })` @param {{ width: number, height: number }} size
   * @param {number} lastStep
   * @param {(pen: any, lay: any, step: number, ms: number) => void} paint
   */
  constructor(painter, size, lastStep = 0, paint = (pen, lay) => painter.paint(pen, lay)) {
    this.painter = painter
    this.size = size
    this.run = { nRows: 1, lastStep }
    this.paintMoving = paint
  }

  layout() {
    const { width, height } = this.size
    return { ...this.painter.layout(this.size), contentWidth: width, contentHeight: height, rail: 0, band: 0 }
  }

  settledRows() {
    return 0
  }

  paintBase() {}

  paintLegend() {}
}

/**
 * Paint one frame with title and caption through any pen; returns its size.
 * @param {(width: number, height: number) => any} makePen
 * @param {{ painters: any[], titles: string[], caption: string, step: number, ms: number, theme: any }} frame
 */
export function paintFrame(makePen, { painters, titles, caption, step, ms, theme }) {
  const size = theme.type
  const cell = 1000
  const lays = painters.map((painter) => {
    const n = painter.run.nRows
    const fitted = Math.max(5, Math.min(28, Math.floor(640 / n)))
    const guess = painter.layout({ width: cell, height: cell, cell: fitted, dpr: 1, narrow: false })
    return painter.layout({ width: guess.contentWidth + guess.rail, height: cell, cell: fitted, dpr: 1, narrow: false })
  })
  const widths = lays.map((lay) => lay.contentWidth + lay.rail)
  const inner = widths.reduce((a, b) => a + b, 0) + MARGIN * (lays.length - 1)
  const heading = { size: size * 1.2, weight: 600, family: theme.sans, fill: theme.ink }
  const words = { size: size * 1.1, family: theme.sans, fill: theme.ink }
  const lines = wrapLines(caption, words, inner)
  const top = MARGIN + size * 2
  const tallest = Math.max(...lays.map((lay) => lay.contentHeight + lay.band))
  const [width, height] = [inner + 2 * MARGIN, top + tallest + lines.length * size * 1.6 + 1.5 * MARGIN]
  const pen = makePen(width, height)
  pen.rect(0, 0, width, height, theme.ground)
  let x = MARGIN
  painters.forEach((painter, i) => {
    const lay = lays[i]
    const at = { x: 0, y: 0, width: lay.contentWidth, height: lay.contentHeight }
    pen.text(titles[i], x, MARGIN + size * 0.6, heading)
    pen.shift(x, top)
    const own = Math.min(step, painter.run.lastStep)
    painter.paintBase(pen, lay, painter.settledRows(own, ms), at)
    painter.paintLegend(pen, lay, at)
    painter.paintMoving(pen, lay, own, ms, at)
    pen.unshift()
    x += widths[i] + MARGIN
  })
  lines.forEach((line, i) => pen.text(line, MARGIN, top + tallest + MARGIN * 0.5 + (i + 0.5) * size * 1.6, words))
  return { pen, width, height }
}

/** @param {any} frame */
export function frameSvg(frame) {
  const { pen, width, height } = paintFrame(() => new SvgPen(), frame)
  return pen.document(width, height, frame.caption)
}

/** @param {any} frame @returns {Promise<Blob>} */
export function framePng(frame) {
  const canvas = document.createElement("canvas")
  paintFrame((width, height) => {
    const dpr = Math.min(SHARP, LARGEST_SIDE / Math.max(width, height))
    canvas.width = Math.ceil(width * dpr)
    canvas.height = Math.ceil(height * dpr)
    return new CanvasPen(/** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), dpr)
  }, frame)
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large for a PNG"))), "image/png"))
}

/**
 * A small menu with the two picture files.
 * @param {HTMLElement} host @param {() => any} frameNow @param {() => string} nameNow @param {AbortSignal} signal
 */
export function pictureMenu(host, frameNow, nameNow, signal) {
  const list = el("div", { class: "onr-menu-list", hidden: true })
  const opener = el("button", { type: "button", "aria-expanded": "false", "aria-haspopup": "true" }, "Picture ▾")
  const show = (/** @type {boolean} */ open) => {
    list.hidden = !open
    opener.setAttribute("aria-expanded", String(open))
  }
  const item = (/** @type {string} */ text, /** @type {() => any} */ act) =>
    list.append(el("button", { type: "button", click: () => { show(false); opener.focus({ preventScroll: true }); act() } }, text))
  item("Save as PNG", async () => saveBlob(await framePng(frameNow()), fileName(nameNow(), "png")))
  item("Save as SVG", () => saveBlob(new Blob([frameSvg(frameNow())], { type: "image/svg+xml" }), fileName(nameNow(), "svg")))
  opener.addEventListener("click", () => show(list.hidden))
  const menu = el("div", { class: "onr-menu" }, opener, list)
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || list.hidden) return
    show(false)
    opener.focus()
  })
  document.addEventListener("pointerdown", (event) => !event.composedPath().includes(menu) && show(false), { signal })
  host.append(menu)
  return menu
}
