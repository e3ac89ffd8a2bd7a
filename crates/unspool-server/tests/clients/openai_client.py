"""Talks to running gateways with the stock `openai` package.

    python openai_client.py http://127.0.0.1:8000/v1 [MORE URLS] [--api-key KEY] [--model NAME]

Streams a thought, a sentence and two parallel calls, asks for the same in one piece and through the client's own helper for
streams, answers the calls, and checks all of it. Prints what it gets; exits with an error at the first thing that is not as it
should be.
"""

import argparse
import json
from typing import Literal

import openai
import pydantic

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "description": "The next tide at a port.",
            "parameters": {
                "type": "object",
                "properties": {"port": {"type": "string"}, "kind": {"type": "string", "enum": ["high", "low"]}},
                "required": ["port", "kind"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "wind",
            "description": "The wind at a port over some days.",
            "parameters": {
                "type": "object",
                "properties": {"port": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 5}},
                "required": ["port", "days"],
            },
        },
    },
]
MESSAGES = [{"role": "user", "content": "When can I sail from Looe?"}]


class Tide(pydantic.BaseModel):
    """The next tide at a port."""

    port: str
    kind: Literal["high", "low"]


class Wind(pydantic.BaseModel):
    """The wind at a port over some days."""

    port: str
    days: int = pydantic.Field(ge=1, le=5)


class Answer:
    """A streamed answer, folded."""

    def __init__(self):
        self.reasoning, self.content, self.calls = "", "", {}
        self.finish_reason = self.usage = None
        self.deltas = 0

    def take(self, chunk):
        if chunk.usage is not None:
            self.usage = chunk.usage
        for choice in chunk.choices:
            assert choice.index == 0, choice
            self.deltas += 1
            self.reasoning += getattr(choice.delta, "reasoning", None) or ""
            self.content += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                if part.index not in self.calls:
                    assert part.id and part.type == "function" and part.function.name, part
                    self.calls[part.index] = {"id": part.id, "name": part.function.name, "arguments": ""}
                else:
                    assert part.id is None and part.function.name is None, part
                self.calls[part.index]["arguments"] += part.function.arguments or ""
            self.finish_reason = choice.finish_reason or self.finish_reason


def check_calls(calls):
    assert len(calls) == 2, calls
    assert len({call["id"] for call in calls}) == 2, calls
    for call in calls:
        arguments = json.loads(call["arguments"])
        assert isinstance(arguments["port"], str), arguments
        if call["name"] == "tide":
            assert arguments["kind"] in ("high", "low"), arguments
        else:
            assert call["name"] == "wind", call
            assert isinstance(arguments["days"], int) and 1 <= arguments["days"] <= 5, arguments


def stream(client, model, **more):
    answer = Answer()
    request = dict(model=model, messages=MESSAGES, stream=True, stream_options={"include_usage": True}, seed=11)
    for chunk in client.chat.completions.create(**{**request, **more}):
        answer.take(chunk)
    return answer


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("base_urls", nargs="+")
    arguments.add_argument("--api-key", default="none")
    arguments.add_argument("--model")
    arguments = arguments.parse_args()
    for base_url in arguments.base_urls:
        print("gateway:  ", base_url)
        client = openai.OpenAI(base_url=base_url, api_key=arguments.api_key, max_retries=0, timeout=60)
        models = [model.id for model in client.models.list()]
        assert models, "no model is listed"
        check(client, arguments.model or models[0])
    print("all is well")


def check(client, model):
    streamed = stream(client, model, tools=TOOLS)
    calls = [streamed.calls[index] for index in sorted(streamed.calls)]
    print("reasoning:", streamed.reasoning)
    print("content:  ", streamed.content)
    for call in calls:
        print("call:     ", call["name"], call["arguments"])
    assert streamed.reasoning.strip() and streamed.content.strip()
    assert streamed.deltas > 5, "the answer came in one piece"
    assert streamed.finish_reason == "tool_calls", streamed.finish_reason
    assert streamed.usage.completion_tokens_details.reasoning_tokens > 0, streamed.usage
    check_calls(calls)

    whole = client.chat.completions.create(model=model, messages=MESSAGES, tools=TOOLS, seed=11)
    message = whole.choices[0].message
    assert (message.reasoning, message.content) == (streamed.reasoning, streamed.content), message
    given = [(call.function.name, call.function.arguments) for call in message.tool_calls]
    assert given == [(call["name"], call["arguments"]) for call in calls], given
    assert whole.choices[0].finish_reason == "tool_calls"

    results = [{"role": "tool", "tool_call_id": call.id, "content": "at noon"} for call in message.tool_calls]
    spoken = MESSAGES + [message.model_dump(exclude_none=True)] + results
    answer = stream(client, model, messages=spoken, tools=TOOLS)
    print("answer:   ", answer.content)
    assert answer.content.strip() and not answer.calls and answer.finish_reason == "stop", answer.__dict__

    check_helper(client, model)

    assert client.chat.completions.create(model=model, messages=MESSAGES, tools=[]).choices[0].message.content
    try:
        client.chat.completions.create(model=model, messages=MESSAGES, tools=[{"type": "function"}])
    except openai.BadRequestError as error:
        assert error.param == "tools[0].function.name", error.body
    else:
        raise AssertionError("a tool without a name is refused")


def check_helper(client, model):
    """The client folds the stream itself, and makes the arguments objects of the classes that the tools were made of."""
    tools = [openai.pydantic_function_tool(Tide, name="tide"), openai.pydantic_function_tool(Wind, name="wind")]
    with client.chat.completions.stream(model=model, messages=MESSAGES, tools=tools, seed=5) as events:
        kinds = [event.type for event in events]
        choice = events.get_final_completion().choices[0]
    calls = choice.message.tool_calls
    kind = "tool_calls.function.arguments"
    assert calls and kinds.count(f"{kind}.delta") > 3 and kinds.count(f"{kind}.done") == len(calls), kinds
    for call in calls:
        print("helper:   ", repr(call.function.parsed_arguments))
        assert isinstance(call.function.parsed_arguments, {"tide": Tide, "wind": Wind}[call.function.name]), call
    assert choice.message.reasoning.strip() and choice.finish_reason == "tool_calls", choice


if __name__ == "__main__":
    main()
