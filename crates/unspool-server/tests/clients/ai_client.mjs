// Talks to running gateways with the Vercel AI SDK: chat (by two of its providers), Responses and Messages.
//
//     node ai_client.mjs FOLDER http://127.0.0.1:8000 [MORE URLS] [--api-key KEY] [--model NAME]
//
// FOLDER is where `npm ci` has installed the packages of package.json. Over each API a thought, a sentence and two parallel calls
// are streamed and asked for in one piece, and a loop runs the calls and sends the results back. Prints what it gets; exits with
// an error at the first thing that is not as it should be.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { "api-key": { type: "string", default: "none" }, model: { type: "string", default: "any" } },
});
const [folder, ...bases] = positionals;
assert(bases.length > 0, "usage: node ai_client.mjs FOLDER URL [MORE URLS] [--api-key KEY] [--model NAME]");

// The packages lie beside the build, not beside this file.
const require = createRequire(pathToFileURL(resolve(folder, "package.json")));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { APICallError, generateText, stepCountIs, streamText, tool } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createAnthropic } = await load("@ai-sdk/anthropic");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { z } = await load("zod");

globalThis.AI_SDK_LOG_WARNINGS = false;

/// The tools; with `ran` they run, and tell what they ran with.
function tools(ran) {
  const runs = (name) => (ran ? { execute: async (input) => (ran.push([name, input]), "at noon") } : {});
  return {
    tide: tool({
      description: "The next tide at a port.",
      inputSchema: z.object({ port: z.string(), kind: z.enum(["high", "low"]) }),
      ...runs("tide"),
    }),
    wind: tool({
      description: "The wind at a port over some days.",
      inputSchema: z.object({ port: z.string(), days: z.number().int().min(1).max(5) }),
      ...runs("wind"),
    }),
  };
}

const PROMPT = "When can I sail from Looe?";

/// The APIs of a gateway: name, model, options, and whether the provider reads the thought.
function surfaces(base, apiKey) {
  const baseURL = `${base}/v1`;
  const openai = createOpenAI({ baseURL, apiKey });
  const anthropic = createAnthropic({ baseURL, apiKey });
  const compatible = createOpenAICompatible({ name: "gateway", baseURL, apiKey, includeUsage: true });
  return [
    { name: "openai-compatible", model: compatible(flags.model), thinks: true },
    // This provider passes over a chat model's thought.
    { name: "openai, chat", model: openai.chat(flags.model), thinks: false },
    // It shows summaries of thoughts alone, and refers to what the server keeps unless it is told that nothing is kept.
    {
      name: "openai, responses",
      model: openai.responses(flags.model),
      options: { openai: { store: false } },
      thinks: false,
    },
    {
      name: "anthropic",
      model: anthropic(flags.model),
      options: { anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } } },
      thinks: true,
    },
  ];
}

/// What a step says, without the ids that are made anew.
const said = ({ reasoningText, text, toolCalls }) => ({
  thought: reasoningText ?? "",
  text,
  calls: toolCalls.map(({ toolName, input }) => [toolName, input]),
});

function checkCalls(toolCalls) {
  assert.equal(toolCalls.length, 2);
  assert.equal(new Set(toolCalls.map((call) => call.toolCallId)).size, 2, "each call has an id of its own");
  for (const { toolName, input, invalid } of toolCalls) {
    assert(!invalid && ["tide", "wind"].includes(toolName) && typeof input.port === "string", JSON.stringify(input));
  }
}

async function streams({ name, model, options, thinks }) {
  const result = streamText({ model, prompt: PROMPT, tools: tools(), providerOptions: options, maxRetries: 0 });
  const seen = {};
  const joined = { reasoning: "", text: "" };
  const inputs = {};
  for await (const part of result.fullStream) {
    assert.notEqual(part.type, "error", String(part.error));
    seen[part.type] = (seen[part.type] ?? 0) + 1;
    if (part.type === "reasoning-delta") joined.reasoning += part.text;
    if (part.type === "text-delta") joined.text += part.text;
    if (part.type === "tool-input-delta") inputs[part.id] = (inputs[part.id] ?? "") + part.delta;
  }
  const step = (await result.steps)[0];
  checkCalls(step.toolCalls);
  assert(seen["text-delta"] > 1 && seen["tool-input-delta"] > 2, `${name}: it came in one piece: ${JSON.stringify(seen)}`);
  assert.equal(joined.text, step.text);
  assert.equal(joined.reasoning, step.reasoningText ?? "");
  for (const { toolCallId, input } of step.toolCalls) assert.deepEqual(JSON.parse(inputs[toolCallId]), input);
  assert.equal((seen["reasoning-delta"] ?? 0) > 1, thinks, `${name}: ${JSON.stringify(seen)}`);
  assert.equal(step.finishReason, "tool-calls");
  assert(step.usage.outputTokens > 0 && step.usage.inputTokens > 0, JSON.stringify(step.usage));
  return step;
}

async function loops(surface, streamed) {
  const { name, model, options, thinks } = surface;
  const ran = [];
  const request = { model, prompt: PROMPT, tools: tools(ran), providerOptions: options, maxRetries: 0, stopWhen: stepCountIs(5) };
  const result = streamed ? streamText(request) : await generateText(request);
  if (streamed) await result.consumeStream({ onError: (error) => assert.fail(String(error)) });
  const steps = await result.steps;
  assert.equal(steps.length, 2, `${name}: calls, and an answer to their results`);
  checkCalls(steps[0].toolCalls);
  assert.deepEqual(ran.sort(), said(steps[0]).calls.sort(), `${name}: what ran is what was called`);
  assert(steps[1].text.trim() && steps[1].toolCalls.length === 0, name);
  assert.equal(steps[1].finishReason, "stop");
  assert.equal(Boolean(steps[0].reasoningText?.trim()), thinks, name);
  return steps;
}

async function check(surface) {
  const { name, model, options } = surface;
  const streamed = await streams(surface);
  const steps = await loops(surface, false);
  assert.deepEqual(said(steps[0]), said(streamed), `${name}: whole and streamed say the same`);
  // What comes after the results depends on the calls' ids, which are made anew.
  assert.deepEqual(said((await loops(surface, true))[0]), said(streamed), `${name}: in a loop as well`);
  console.log(`${name}:`);
  console.log("  thought:", said(streamed).thought, "\n  text:   ", streamed.text);
  for (const call of said(streamed).calls) console.log("  call:   ", ...call);
  console.log("  answer: ", steps[1].text);

  const plain = { model, prompt: PROMPT, maxRetries: 0 };
  for (const [toolChoice, count] of [["required", 1], ["none", 0], [{ type: "tool", toolName: "wind" }, 1]]) {
    // Anthropic's API does not let a client force a call and think.
    const forced = name === "anthropic" ? {} : { providerOptions: options };
    const answer = await generateText({ ...plain, ...forced, tools: tools(), toolChoice });
    assert.equal(Math.min(answer.toolCalls.length, 1), count, `${name}: ${JSON.stringify(toolChoice)}`);
    assert(!toolChoice.toolName || answer.toolCalls.every((call) => call.toolName === "wind"), name);
  }
  const cut = await generateText({ ...plain, maxOutputTokens: 3 });
  assert.equal(cut.finishReason, "length", name);
}

/// An error of the API becomes the SDK's own, with its status and its words.
async function checkErrors(base) {
  for (const { name, model, options } of surfaces(base, "wrong")) {
    const asked = generateText({ model, prompt: PROMPT, providerOptions: options, maxRetries: 0 });
    await assert.rejects(asked, (error) => APICallError.isInstance(error) && error.statusCode === 401, name);
  }
  for (const { name, model } of surfaces(base, flags["api-key"])) {
    const asked = generateText({ model, prompt: PROMPT, maxRetries: 0, topP: -1 });
    const told = (error) => APICallError.isInstance(error) && error.statusCode === 400 && /`top_p` is -1/.test(error.message);
    await assert.rejects(asked, told, name);
  }
}

for (const base of bases) {
  console.log("gateway:", base);
  for (const surface of surfaces(base, flags["api-key"])) await check(surface);
}
if (flags["api-key"] !== "none") await checkErrors(bases[0]);
console.log("all is well");
