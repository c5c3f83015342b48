// Holds what the tests said to the fake GitHub, and what it answered, against GitHub's own OpenAPI description.
//
// Usage: node judge.mjs FOLDER NODE_MODULES
//
// FOLDER has the exchanges that tests/integration/github/exchanges.rs wrote, one JSON object a line; NODE_MODULES has
// @stoplight/prism-cli and @octokit/openapi. Each request is sent once more, through `prism proxy`, to a server that gives
// the recorded answer; prism reports what the description does not allow. It ends with 1 on any violation, and when there
// was nothing to judge. What the description does not have is left out and counted by reason; the request of an answer
// that it does not have is judged all the same.

import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";

const [folder, modules] = process.argv.slice(2);
if (!folder || !modules) {
  console.error("usage: node judge.mjs FOLDER NODE_MODULES");
  process.exit(2);
}
const description = path.join(modules, "@octokit/openapi/generated/api.github.com.json");
const prism = path.join(modules, "@stoplight/prism-cli/dist/index.js");
const AT_A_TIME = 8;
const START_MS = 120_000;
const SHOWN = 40;

function exchangesIn(folder) {
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  const lines = files.flatMap((name) => readFileSync(path.join(folder, name), "utf8").split("\n"));
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** The operations of the description, each with a pattern of its path; paths without braces go first. */
function operationsOf(description) {
  const paths = Object.entries(JSON.parse(readFileSync(description, "utf8")).paths);
  const braces = (template) => template.split("{").length;
  return paths
    .sort(([one], [other]) => braces(one) - braces(other))
    .map(([template, methods]) => {
      const parts = template.split(/\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      return { pattern: new RegExp(`^${parts.join("[^/]+")}$`), methods };
    });
}

function operationOf(operations, request) {
  const pathname = request.path.split("?")[0];
  const method = request.method.toLowerCase();
  const found = operations.find(({ pattern, methods }) => pattern.test(pathname) && methods[method]);
  return found?.methods[method];
}

/** Why this cannot be judged: all of it, or its answer alone. */
function leftOut(operation, { request, answer }) {
  if (request.path === "/graphql") return { all: "GraphQL is not described" };
  if (answer === null) return { answer: "the connection was closed without an answer" };
  if (!operation) return {};
  if (!(answer.status in operation.responses)) {
    return { answer: `${answer.status} is not described there` };
  }
  const kind = answer.headers["content-type"] ?? "";
  if (kind.startsWith("application/vnd.github.raw")) return { answer: "a file's own bytes are not described" };
  if (kind.startsWith("text/html")) return { answer: "a page in place of JSON" };
  return {};
}

function listen(server, port = 0) {
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server.address().port));
  });
}

async function freePort() {
  const server = net.createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Gives the recorded answer of the exchange whose number stands in a header; in place of one that is left out, a bare 502. */
function replay(exchanges, bare) {
  return http.createServer((request, response) => {
    request.resume();
    const number = Number(request.headers["x-exchange"]);
    const { answer } = exchanges[number] ?? {};
    if (!answer || bare.has(number)) return response.writeHead(502).end();
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
}

async function startPrism(upstream) {
  const port = await freePort();
  const command = [prism, "proxy", "--errors", description, `http://127.0.0.1:${upstream}`];
  const child = spawn(process.execPath, [...command, "-h", "127.0.0.1", "-p", String(port), "--multiprocess", "false"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => (said = (said + text).slice(-4000)));
  }
  let ended = false;
  child.on("exit", () => (ended = true));
  const deadline = Date.now() + START_MS;
  while (!(await answers(port))) {
    if (ended || Date.now() > deadline) {
      child.kill();
      throw new Error(`prism did not start:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return { child, port };
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("connect", () => resolve(socket.destroy() && true));
    socket.on("error", () => resolve(false));
  });
}

function send(port, number, { method, path, headers, body }) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port, method, path, headers: { ...headers, "x-exchange": number } });
    request.on("error", reject);
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.end(body === null ? undefined : JSON.stringify(body));
  });
}

/** What prism has against an exchange. */
function violations({ status, headers, text }, exchange, isAnswerLeftOut) {
  const isProblem = (headers["content-type"] ?? "").startsWith("application/problem+json");
  if (!isProblem) {
    const found = JSON.parse(headers["sl-violations"] ?? "[]").filter(({ severity }) => severity === "Error");
    const expected = isAnswerLeftOut ? 502 : exchange.answer.status;
    if (status !== expected) found.push({ location: ["proxy"], message: `answered ${status}, not ${expected}` });
    return relevant(found, isAnswerLeftOut);
  }
  const problem = JSON.parse(text);
  return relevant(problem.validation ?? [{ location: ["request"], message: problem.title }], isAnswerLeftOut);
}

function relevant(found, isAnswerLeftOut) {
  return found.filter(({ location }) => !(isAnswerLeftOut && location?.[0] === "response"));
}

const exchanges = exchangesIn(folder);
const operations = operationsOf(description);
const wrong = [];
const reasons = new Map();
const counts = { requests: 0, answers: 0 };
const used = new Set();

/** The numbers of the exchanges whose answer is left out. */
const bare = new Set();
const server = replay(exchanges, bare);
const upstream = await listen(server);
const { child, port } = await startPrism(upstream);

async function judge(number) {
  const exchange = exchanges[number];
  const operation = operationOf(operations, exchange.request);
  const reason = leftOut(operation, exchange);
  const why = reason.all ?? reason.answer;
  if (why) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  if (reason.all) return;
  counts.requests += 1;
  if (reason.answer) bare.add(number);
  else counts.answers += 1;
  if (operation) used.add(operation.operationId);
  const answer = await send(port, number, exchange.request);
  for (const { location, message } of violations(answer, exchange, Boolean(reason.answer))) {
    const { method, path } = exchange.request;
    wrong.push(`${method} ${path} -> ${exchange.answer?.status ?? "nothing"}: ${(location ?? []).join(".")}: ${message}`);
  }
}

try {
  let next = 0;
  const worker = async () => {
    while (next < exchanges.length) await judge(next++);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
} finally {
  child.kill();
  server.close();
  server.closeAllConnections();
}

for (const line of wrong.slice(0, SHOWN)) console.error(line);
if (wrong.length > SHOWN) console.error(`and ${wrong.length - SHOWN} more`);
console.log(
  `${exchanges.length} exchanges: ${counts.requests} requests and ${counts.answers} answers judged, of ${used.size} operations; ${wrong.length} violations`,
);
for (const [why, count] of [...reasons].sort()) console.log(`left out ${count}: ${why}`);
if (counts.answers === 0) console.error("there was nothing to judge");
process.exitCode = wrong.length > 0 || counts.answers === 0 ? 1 : 0;
