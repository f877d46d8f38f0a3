// @ts-check
/** Two pens with the same strokes: one draws on a canvas, one writes SVG. Pictures know neither. */

/**
 * @typedef {{ fill: string, width: number, up: number, down: number, lead?: number }} Plate ground behind a text, along and across it
 * @typedef {{ size: number, family: string, weight?: number, fill: string, align?: CanvasTextAlign, rotate?: number, alpha?: number, plate?: Plate }} TextStyle
 */

/** @type {CanvasRenderingContext2D|null} */
let measuring = null

/** Width of a text in CSS pixels. @param {string} text @param {TextStyle} style */
export function textWidth(text, style) {
  measuring ??= document.createElement("canvas").getContext("2d")
  const context = /** @type {CanvasRenderingContext2D} */ (measuring)
  context.font = fontOf(style)
  return context.measureText(text).width
}

/** @param {TextStyle} style */
const fontOf = (style) => `${style.weight ?? 400} ${style.size}px ${style.family}`

export class CanvasPen {
  /** @param {CanvasRenderingContext2D} context @param {number} dpr */
  constructor(context, dpr) {
    this.context = context
    this.dpr = dpr
    context.setTransform(dpr, 0, 0, dpr, 0, 0)
    context.textBaseline = "middle"
    context.direction = "ltr"
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  erase(x, y, w, h) {
    this.context.clearRect(x, y, w, h)
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h @param {string} fill @param {number} [r] */
  rect(x, y, w, h, fill, r = 0) {
    const c = this.context
    c.fillStyle = fill
    if (r <= 0) return c.fillRect(x, y, w, h)
    c.beginPath()
    c.roundRect(x, y, w, h, r)
    c.fill()
  }

  /** An outline that lies inside the given box.
   * @param {number} x @param {number} y @param {number} w @param {number} h @param {string} stroke @param {number} lw @param {number} [r] */
  box(x, y, w, h, stroke, lw, r = 0) {
    const c = this.context
    c.strokeStyle = stroke
    c.lineWidth = lw
    c.beginPath()
    c.roundRect(x + lw / 2, y + lw / 2, Math.max(0, w - lw), Math.max(0, h - lw), r)
    c.stroke()
  }

  /** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {string} stroke @param {number} lw @param {number[]} [dash] */
  line(x1, y1, x2, y2, stroke, lw, dash = []) {
    const c = this.context
    c.strokeStyle = stroke
    c.lineWidth = lw
    c.setLineDash(dash)
    c.beginPath()
    c.moveTo(x1, y1)
    c.lineTo(x2, y2)
    c.stroke()
    c.setLineDash([])
  }

  /** @param {string} text @param {number} x @param {number} y @param {TextStyle} style */
  text(text, x, y, style) {
    const c = this.context
    c.save()
    c.font = fontOf(style)
    c.fillStyle = style.fill
    c.textAlign = style.align ?? "left"
    c.translate(x, y)
    if (style.rotate) c.rotate((style.rotate * Math.PI) / 180)
    if (style.plate) {
      const { fill, width, up, down, lead = 0 } = style.plate
      c.fillStyle = fill
      c.fillRect(style.align === "right" ? -width : -lead, -up, width + lead, up + down)
      c.fillStyle = style.fill
    }
    c.globalAlpha = style.alpha ?? 1
    c.fillText(text, 0, 0)
    c.restore()
  }

  /** Rows `from` to `to` of a picture that has one pixel a cell. An SVG has no such stroke.
   * @param {HTMLCanvasElement} source @param {number} from @param {number} to @param {number} x @param {number} y @param {number} cell */
  image(source, from, to, x, y, cell) {
    if (to <= from) return
    const [w, h] = [source.width, to - from]
    this.context.imageSmoothingEnabled = cell * this.dpr !== Math.round(cell * this.dpr)
    this.context.drawImage(source, 0, from, w, h, x, y + from * cell, w * cell, h * cell)
  }

  /** Everything until `unclip` stays inside. @param {number} x @param {number} y @param {number} w @param {number} h */
  clip(x, y, w, h) {
    this.context.save()
    this.context.beginPath()
    this.context.rect(x, y, w, h)
    this.context.clip()
  }

  unclip() {
    this.context.restore()
  }

  /** Everything until `unshift` is moved. @param {number} x @param {number} y */
  shift(x, y) {
    this.context.save()
    this.context.translate(x, y)
  }

  unshift() {
    this.context.restore()
  }
}

/** @param {string} text */
export const escapeXml = (text) =>
  text
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;")

/** @param {number} value */
const short = (value) => String(Math.round(value * 100) / 100)

export class SvgPen {
  constructor() {
    /** @type {string[]} */
    this.parts = []
    this.clips = 0
  }

  erase() {}

  /** @param {number} x @param {number} y @param {number} w @param {number} h @param {string} fill @param {number} [r] */
  rect(x, y, w, h, fill, r = 0) {
    const round = r > 0 ? ` rx="${short(r)}"` : ""
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"${round} fill="${escapeXml(fill)}"/>`)
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h @param {string} stroke @param {number} lw @param {number} [r] */
  box(x, y, w, h, stroke, lw, r = 0) {
    this.parts.push(
      `<rect x="${short(x + lw / 2)}" y="${short(y + lw / 2)}" width="${short(Math.max(0, w - lw))}" height="${short(Math.max(0, h - lw))}" ` +
        `rx="${short(r)}" fill="none" stroke="${escapeXml(stroke)}" stroke-width="${lw}"/>`,
    )
  }

  /** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {string} stroke @param {number} lw @param {number[]} [dash] */
  line(x1, y1, x2, y2, stroke, lw, dash = []) {
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : ""
    this.parts.push(`<line x1="${short(x1)}" y1="${short(y1)}" x2="${short(x2)}" y2="${short(y2)}" stroke="${escapeXml(stroke)}" stroke-width="${lw}"${dashes}/>`)
  }

  /** @param {string} text @param {number} x @param {number} y @param {TextStyle} style */
  text(text, x, y, style) {
    const anchor = { right: "end", center: "middle" }[/** @type {string} */ (style.align)] ?? "start"
    const turn = style.rotate ? ` transform="rotate(${style.rotate} ${short(x)} ${short(y)})"` : ""
    if (style.plate) {
      const { fill, width, up, down, lead = 0 } = style.plate
      const left = style.align === "right" ? x - width : x - lead
      this.parts.push(`<rect x="${short(left)}" y="${short(y - up)}" width="${short(width + lead)}" height="${short(up + down)}" fill="${escapeXml(fill)}"${turn}/>`)
    }
    const faint = style.alpha !== undefined && style.alpha < 1 ? ` opacity="${short(style.alpha)}"` : ""
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${style.size}" font-weight="${style.weight ?? 400}" font-family="${escapeXml(style.family)}" ` +
        `fill="${escapeXml(style.fill)}" text-anchor="${anchor}" dominant-baseline="central"${turn}${faint} xml:space="preserve">${escapeXml(text)}</text>`,
    )
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  clip(x, y, w, h) {
    const id = `clip${this.clips++}`
    this.parts.push(`<clipPath id="${id}"><rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"/></clipPath><g clip-path="url(#${id})">`)
  }

  unclip() {
    this.parts.push("</g>")
  }

  /** @param {number} x @param {number} y */
  shift(x, y) {
    this.parts.push(`<g transform="translate(${short(x)} ${short(y)})">`)
  }

  unshift() {
    this.parts.push("</g>")
  }

  /** @param {number} width @param {number} height @param {string} title */
  document(width, height, title) {
    const [w, h] = [Math.ceil(width), Math.ceil(height)]
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" role="img">` +
      `<title>${escapeXml(title)}</title>\n${this.parts.join("\n")}\n</svg>\n`
    )
  }
}
