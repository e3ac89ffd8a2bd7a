"""Talks to running gateways with the stock `anthropic` package.

    python anthropic_client.py http://127.0.0.1:8000 [MORE URLS] [--api-key KEY] [--model NAME]

Streams a thought, a sentence and two parallel calls, asks for the same in one piece, answers the calls, counts tokens, and checks
all of it. Prints what it gets; exits with an error at the first thing that is not as it should be.
"""

import argparse

import anthropic

TOOLS = [
    {
        "name": "tide",
        "description": "The next tide at a port.",
        "input_schema": {
            "type": "object",
            "properties": {"port": {"type": "string"}, "kind": {"type": "string", "enum": ["high", "low"]}},
            "required": ["port", "kind"],
        },
    },
    {
        "name": "wind",
        "description": "The wind at a port over some days.",
        "input_schema": {
            "type": "object",
            "properties": {"port": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 5}},
            "required": ["port", "days"],
        },
    },
]
MESSAGES = [{"role": "user", "content": "When can I sail from Looe?"}]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("base_urls", nargs="+")
    arguments.add_argument("--api-key", default="none")
    arguments.add_argument("--model", default="any")
    arguments = arguments.parse_args()
    for base_url in arguments.base_urls:
        print("gateway:  ", base_url)
        client = anthropic.Anthropic(base_url=base_url, api_key=arguments.api_key, max_retries=0, timeout=60)
        check(client, arguments.model)
    wrong = anthropic.Anthropic(base_url=arguments.base_urls[0], api_key="wrong", max_retries=0, timeout=60)
    if arguments.api_key != "none":
        try:
            wrong.messages.create(model=arguments.model, max_tokens=64, messages=MESSAGES)
        except anthropic.AuthenticationError as error:
            assert error.body["error"]["type"] == "authentication_error", error.body
        else:
            raise AssertionError("a wrong key is refused")
    print("all is well")


def stream(client, **request):
    """The final message of a stream, as the client itself folds it, and the types of its events."""
    with client.messages.stream(**request) as events:
        kinds = [event.type for event in events]
        return events.get_final_message(), kinds


def parts(message):
    """What an answer says: the thought, the text, the calls."""
    thought = "".join(block.thinking for block in message.content if block.type == "thinking")
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    return thought, text, calls


def check(client, model):
    request = dict(
        model=model,
        max_tokens=4096,
        messages=MESSAGES,
        tools=TOOLS,
        system=[{"type": "text", "text": "Be brief."}],
        thinking={"type": "enabled", "budget_tokens": 2048},
        extra_body={"seed": 11},
    )
    streamed, kinds = stream(client, **request)
    thought, text, calls = parts(streamed)
    print("thinking: ", thought)
    print("text:     ", text)
    for name, arguments in calls:
        print("call:     ", name, arguments)
    assert thought.strip() and text.strip(), streamed
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop", kinds
    for kind in ["thinking", "text", "input_json"]:
        assert kinds.count(kind) > 1, kinds
    assert streamed.stop_reason == "tool_use" and streamed.usage.output_tokens > 0, streamed
    assert len(calls) == 2 and len({block.id for block in streamed.content if block.type == "tool_use"}) == 2, calls
    for name, arguments in calls:
        assert name in ("tide", "wind") and isinstance(arguments["port"], str) and len(arguments) == 2, (name, arguments)

    whole = client.messages.create(**request)
    assert parts(whole) == parts(streamed), whole
    assert (whole.stop_reason, whole.usage.input_tokens) == ("tool_use", streamed.usage.input_tokens), whole

    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": "at noon"}]}
        for block in whole.content
        if block.type == "tool_use"
    ]
    spoken = MESSAGES + [{"role": "assistant", "content": whole.content}, {"role": "user", "content": results}]
    answer, _ = stream(client, **{**request, "messages": spoken})
    print("answer:   ", parts(answer)[1])
    assert parts(answer)[1].strip() and not parts(answer)[2] and answer.stop_reason == "end_turn", answer

    for choice, count in [({"type": "any", "disable_parallel_tool_use": True}, 1), ({"type": "none"}, 0)]:
        answer = client.messages.create(**request, tool_choice=choice)
        assert len(parts(answer)[2]) == count, answer
    cut = client.messages.create(**{**request, "max_tokens": 4, "thinking": {"type": "disabled"}})
    assert cut.stop_reason == "max_tokens", cut

    counted = client.messages.count_tokens(model=model, messages=MESSAGES, tools=TOOLS, system=request["system"])
    assert counted.input_tokens == whole.usage.input_tokens, (counted, whole.usage)

    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    try:
        client.messages.create(**{**request, "messages": [{"role": "user", "content": [image]}]})
    except anthropic.BadRequestError as error:
        assert error.body["error"]["type"] == "invalid_request_error", error.body
    else:
        raise AssertionError("an image is refused")


if __name__ == "__main__":
    main()
