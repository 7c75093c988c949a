// A loop of the AI SDK with its default provider, which speaks Responses: three tools, and the last text on stdout.
import { exec } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { createOpenAI } from "@ai-sdk/openai";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";

const offer = (execute, ...names) =>
  tool({
    description: "A tool.",
    inputSchema: jsonSchema({
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
      required: names,
      additionalProperties: false,
    }),
    execute,
  });

const openai = createOpenAI({ baseURL: process.env.SDK_URL, apiKey: process.env.SDK_KEY });
const result = streamText({
  model: openai("m"),
  prompt: process.env.SDK_PROMPT,
  maxRetries: 0,
  stopWhen: stepCountIs(8),
  onError({ error }) {
    console.error(error);
    process.exitCode = 1;
  },
  tools: {
    read: offer(({ path }) => readFile(path, "utf8"), "path"),
    write: offer(({ path, content }) => writeFile(path, content).then(() => "written"), "path", "content"),
    run: offer(({ command }) => promisify(exec)(command).then(({ stdout }) => stdout), "command"),
  },
});
for await (const text of result.textStream) process.stdout.write(text);
