// Runs the code of one check in Node. What is asked is JSON on stdin; the answer is JSON in the file that it names:
// {"value": ...}, {"odd": "what it is instead of a value"} or {"error": "message"}.
'use strict';
const fs = require('fs');
const { pathToFileURL } = require('url');

const { readFileSync, writeFileSync } = fs;
const asked = JSON.parse(readFileSync(0, 'utf8'));

// A declaration before an expression on one line: the value of the line is that of its last statement.
const DECLARES = /^(?:const|let|var)\s/;

function inline(code, names = ['output', 'context', 'process']) {
  const text = code.trimEnd();
  if (text.includes('\n')) return new Function(...names, text);
  const line = text.trim().replace(/;+\s*$/, '');
  if (!DECLARES.test(line)) return new Function(...names, `return ${line}`);
  const body = new Function(...names, 'return eval(arguments[3])');
  return (output, context, shim) => body(output, context, shim, line);
}

async function loaded(file) {
  try {
    return require(file);
  } catch (error) {
    if (error.code !== 'ERR_REQUIRE_ESM' && !(error instanceof SyntaxError)) throw error;
    const found = await import(pathToFileURL(file).href);
    return found.default && found.default.default ? found.default.default : found.default || found;
  }
}

async function named(file, name) {
  const module = await loaded(file);
  for (const found of [name && module && module[name], module, module && module.default]) {
    if (typeof found === 'function') return found;
  }
  throw new Error(`the file exports no function${name ? ` \`${name}\`` : ''}`);
}

async function made({ code, file, function: name, calls }) {
  if (code !== undefined) {
    const run = inline(code, ['vars', 'context', 'process']);
    return Promise.all(calls.map((given) => run(...given, process)));
  }
  const module = await loaded(file);
  const whole = module && module.default !== undefined ? module.default : module;
  const found = name ? whole && (whole[name] || module[name]) : whole;
  if (typeof found !== 'function' && !Array.isArray(found)) {
    throw new Error(`the file exports no function${name ? ` \`${name}\`` : ''}`);
  }
  const values = [];
  for (const given of calls) {
    const value = await (typeof found === 'function' ? found(...given) : found);
    values.push(value === undefined ? null : value);
  }
  return values;
}

function answerOf(value) {
  if (typeof value === 'number' && !Number.isFinite(value)) return { odd: String(value) };
  if (value === undefined || ['function', 'symbol', 'bigint'].includes(typeof value)) return { odd: typeof value };
  return { value };
}

async function main() {
  let answer;
  try {
    if (asked.calls) {
      answer = JSON.stringify(answerOf(await made(asked)));
    } else {
      const run = asked.code === undefined ? await named(asked.file, asked.function) : inline(asked.code);
      answer = JSON.stringify(answerOf(await run(asked.output, asked.context, process)));
    }
  } catch (error) {
    answer = JSON.stringify({ error: String(error && error.message !== undefined ? error.message : error) });
  }
  writeFileSync(asked.answer, answer, { flag: 'wx' });
  process.exit(0);
}

main();
