// @ts-check
/** The offline page of the growing cache: the same stage over a payload that lies in the page. */
import { mountGrowth } from "./growth.mjs"
import { storePut } from "./store.mjs"

/** The payload element holds `{"view": {...}, "payloads": {key: payload}}`. @param {Document} page */
export function startGrowthPlayer(page) {
  const source = page.getElementById("onr-payload")
  const parentElement = page.getElementById("onr-player")
  if (!source || !parentElement) return
  const { view, payloads } = JSON.parse(source.textContent ?? "")
  for (const [key, payload] of Object.entries(payloads)) storePut(page, key, payload)
  mountGrowth({ parentElement, data: view })
}
if (typeof document !== "undefined") startGrowthPlayer(document)
