// @ts-check
/** The strip of small triangles, one per head of every layer, to choose from. */
import { strength, triIndex } from "./draw.mjs"
import { el, setAttr, setText } from "./dom.mjs"
import { triangleBitmap } from "./paint.mjs"

/** The groups of query heads that share one K/V head. @param {number} nHeads @param {number} nKvHeads @returns {number[][]} */
export function sharedGroups(nHeads, nKvHeads) {
  const size = nHeads / nKvHeads
  return Array.from({ length: nKvHeads }, (_, k) => Array.from({ length: size }, (_, i) => k * size + i))
}

/** @param {{ layer: number, head: number, name: string }[]} heads @param {number} layer @param {number} head */
export const namesOf = (heads, layer, head) =>
  heads.filter((h) => h.layer === layer && h.head === head).map((h) => h.name).join(", ")

export class HeadStrip {
  /** @param {HTMLElement} host @param {(pick: { layer: number, head: number }) => void} onPick */
  constructor(host, onPick) {
    this.onPick = onPick
    this.title = el("h3", { class: "onr-h" })
    this.grid = el("div", { class: "onr-heads", role: "group", "aria-label": "Heads of all layers" })
    this.names = el("div", { class: "onr-names" })
    this.host = el("section", { class: "onr-strip" }, this.title, this.grid, this.names)
    host.append(this.host)
    /** @type {{ layer: number, head: number, button: HTMLElement, canvas: HTMLCanvasElement, bitmap: HTMLCanvasElement|null }[]} */
    this.tiles = []
    this.shape = ""
    this.drawn = ""
    /** What is seen now. @type {any} */
    this.now = null
  }

  /** @param {import("./run.mjs").Run} run */
  build(run) {
    const { n_layers, n_heads, n_kv_heads } = run.model
    const shape = JSON.stringify([run.model, run.payload.heads])
    if (shape === this.shape) return
    this.shape = shape
    this.tiles = []
    const named = run.payload.heads ?? []
    const rows = Array.from({ length: n_layers }, (_, layer) =>
      el("div", { class: "onr-layer" }, el("span", { class: "onr-layer-name" }, `L${layer}`),
        ...sharedGroups(n_heads, n_kv_heads).map((group, kv) =>
          el("div", { class: "onr-pair", title: `Heads ${group.join(", ")} share K/V head ${kv}` },
            ...group.map((head) => this.tile(layer, head, namesOf(named, layer, head)))))))
    this.grid.replaceChildren(...rows)
    const chips = named.map((/** @type {any} */ h) =>
      el("button", { type: "button", class: "onr-name", title: h.sentence, "data-layer": h.layer, "data-head": h.head,
        click: () => this.onPick({ layer: h.layer, head: h.head }) }, h.name))
    this.names.replaceChildren(...chips)
  }

  /** @param {number} layer @param {number} head @param {string} name */
  tile(layer, head, name) {
    const canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { "aria-hidden": "true" }))
    const label = `Layer ${layer}, head ${head}${name ? `: ${name}` : ""}`
    const button = el("button", { type: "button", class: "onr-head", "aria-label": label, title: label, "data-named": name !== "",
      click: () => this.onPick({ layer, head }) }, canvas)
    this.tiles.push({ layer, head, button, canvas, bitmap: null })
    return button
  }

  /**
   * @param {import("./run.mjs").Run} run @param {{ layer: number, head: number, scale: string }} view
   * @param {Record<string, any>} theme @param {number} step
   */
  paint(run, view, theme, step) {
    this.build(run)
    const { layer, head, scale } = view
    const key = [run.id, run.nRows, scale, theme.key, this.shape].join("|")
    for (const tile of this.tiles) {
      setAttr(tile.button, "aria-pressed", String(tile.layer === layer && tile.head === head))
    }
    this.names.childNodes.forEach((/** @type {any} */ chip) =>
      setAttr(chip, "aria-pressed", String(+chip.dataset.layer === layer && +chip.dataset.head === head)))
    const name = namesOf(run.payload.heads ?? [], layer, head)
    setText(this.title, `Layer ${layer}, head ${head}${name ? `: ${name}` : ""}`)
    const frame = `${key}|${step}`
    if (frame === this.drawn || this.grid.clientWidth === 0) return
    const fresh = !this.drawn.startsWith(`${key}|`)
    this.drawn = frame
    this.now = { run, scale, theme, step, key }
    if (fresh) this.refill(key)
    for (const tile of this.tiles) if (tile.bitmap) this.paintTile(tile)
  }

  /** The big picture comes first: small ones follow one layer at a time, unless something newer is wanted. @param {string} key */
  refill(key) {
    const waiting = this.tiles.slice()
    const { n_heads } = this.now.run.model
    const more = () => {
      if (this.now.key !== key || waiting.length === 0) return
      for (const tile of waiting.splice(0, n_heads)) {
        tile.bitmap = this.bitmapOf(tile)
        this.paintTile(tile)
      }
      setTimeout(more)
    }
    setTimeout(more)
  }

  /** @param {{ layer: number, head: number }} tile */
  bitmapOf({ layer, head }) {
    const { run, scale, theme } = this.now
    const weights = run.triangle("weights", layer, head)
    return triangleBitmap(run.nRows, theme.cachedRamp, (/** @type {number} */ r, /** @type {number} */ c) => strength(weights[triIndex(r, c)], scale))
  }

  /** @param {any} tile */
  paintTile(tile) {
    const { run, theme, step } = this.now
    const n = run.nRows
    const dpr = devicePixelRatio || 1
    const side = Math.round(tile.canvas.clientWidth * dpr)
    if (tile.canvas.width !== side) tile.canvas.width = tile.canvas.height = side
    const context = tile.canvas.getContext("2d")
    const [rows, cell] = [run.rowsAt(step), side / n]
    context.clearRect(0, 0, side, side)
    context.imageSmoothingEnabled = cell < 3
    context.drawImage(tile.bitmap, 0, 0, n, rows, 0, 0, side, rows * cell)
    if (step === 0) return
    context.fillStyle = theme.new
    context.globalAlpha = 0.9
    context.fillRect(0, (rows - 1) * cell, rows * cell, Math.max(cell, 1.5 * dpr))
    context.globalAlpha = 1
  }
}
