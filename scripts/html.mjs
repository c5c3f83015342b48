// Opens pages as readers do, and says what is wrong with them. Started by scripts/html, which installs what this needs.

import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, out, ...given] = process.argv.slice(2);
const from = createRequire(path.join(path.resolve(modules), "index.js"));
const puppeteer = from("puppeteer-core");
const axe = readFileSync(from.resolve("axe-core/axe.min.js"), "utf8");

const SCHEMES = ["light", "dark"];
const WIDTHS = [400, 1200];
// A picture that is higher than this no browser takes.
const HIGHEST = 16000;

const inFolder = (folder) =>
  readdirSync(folder).filter((name) => name.endsWith(".html")).sort().map((name) => path.join(folder, name));
const pages = given.flatMap((one) => (statSync(one).isDirectory() ? inFolder(one) : [one]));
if (pages.length === 0) {
  console.error("no page was found");
  process.exit(1);
}
mkdirSync(out, { recursive: true });

// Everything that a page asks for or complains of, as it happens.
function listen(tab, address, complain) {
  tab.on("console", (message) => complain(`the console says: ${message.text()}`));
  tab.on("pageerror", (error) => complain(`an error: ${error.message}`));
  tab.on("request", (request) => {
    const url = request.url();
    if (url !== address && !url.startsWith("data:")) complain(`asks for ${url}`);
  });
}

async function look(tab, name, scheme, width, complain) {
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.setViewport({ width, height: 900 });
  const { high, wide } = await tab.evaluate(() => ({
    high: document.documentElement.scrollHeight,
    wide: document.documentElement.scrollWidth,
  }));
  if (wide > width) complain(`is ${wide} pixels wide on a screen of ${width}`);
  // No script of the page's own: its policy would refuse one that is added to it.
  await tab.evaluate(axe);
  const found = await tab.evaluate(() => axe.run(document));
  for (const violation of found.violations) {
    const places = violation.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3);
    complain(`axe-core, ${violation.id}: ${violation.help}: ${places.join(" | ")}`);
  }
  const clip = { x: 0, y: 0, width, height: Math.min(high, HIGHEST) };
  await tab.screenshot({ path: path.join(out, `${name}-${scheme}-${width}.png`), clip, captureBeyondViewport: true });
}

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
let complaints = 0;
for (const page of pages) {
  const name = path.basename(page, ".html");
  const address = pathToFileURL(path.resolve(page)).href;
  const tab = await browser.newPage();
  let where = "opening";
  const complain = (what) => {
    complaints += 1;
    console.error(`${page}, ${where}: ${what}`);
  };
  listen(tab, address, complain);
  await tab.goto(address, { waitUntil: "load" });
  for (const scheme of SCHEMES) {
    for (const width of WIDTHS) {
      where = `${scheme}, ${width}`;
      await look(tab, name, scheme, width, complain);
    }
  }
  where = "on paper";
  const printed = await tab.pdf({ path: path.join(out, `${name}.pdf`), format: "A4" });
  if (Buffer.from(printed).subarray(0, 5).toString() !== "%PDF-") complain("cannot be printed");
  await tab.close();
}
await browser.close();
console.log(`${pages.length} pages, ${complaints} complaints; pictures in ${out}`);
process.exit(complaints === 0 ? 0 : 1);
