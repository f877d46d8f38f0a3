import assert from "node:assert/strict"
import { readFileSync, readdirSync } from "node:fs"
import test from "node:test"

const folder = new URL("../../assets/js/", import.meta.url)
const names = readdirSync(folder).filter((name) => name.endsWith(".mjs"))
const sources = new Map(names.map((name) => [name, readFileSync(new URL(name, folder), "utf8")]))

test("no name is defined by two modules, because components join them into one script", () => {
  const owners = new Map()
  for (const [file, source] of sources) {
    const defined = source.matchAll(/^(?:export\s+)?(?:async\s+)?(?:function\*?|class|const|let)\s+([\w$]+)/gm)
    for (const [, name] of defined) {
      assert.ok(!owners.has(name), `${name} is defined in ${owners.get(name)} and in ${file}`)
      owners.set(name, file)
    }
  }
  assert.ok(owners.size > 50)
})

test("user text never becomes markup, nothing is fetched and no module is left unchecked", () => {
  for (const [file, source] of sources) {
    assert.ok(source.startsWith("// @ts-check\n"), `${file} must start with // @ts-check`)
    const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|\bfetch\(|XMLHttpRequest|https?:\/\/(?!www\.w3\.org)/
    assert.ok(!forbidden.test(source), `${file}: ${forbidden.exec(source)?.[0]}`)
  }
})

test("every module loads by itself: what it imports exists", async () => {
  for (const file of names) await import(new URL(file, folder))
})
