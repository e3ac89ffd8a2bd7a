"""Talks to running gateways over the Responses API with the stock `openai` package.

    python responses_client.py http://127.0.0.1:8000/v1 [MORE URLS] [--api-key KEY] [--model NAME]

Streams a thought, a sentence and two parallel calls, asks for the same in one piece, answers the calls, has a custom tool called,
and checks all of it. Prints what it gets; exits with an error at the first thing that is not as it should be.
"""

import argparse
import json

import openai

TOOLS = [
    {
        "type": "function",
        "name": "tide",
        "description": "The next tide at a port.",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {"port": {"type": "string"}, "kind": {"type": "string", "enum": ["high", "low"]}},
            "required": ["port", "kind"],
        },
    },
    {
        "type": "function",
        "name": "wind",
        "description": "The wind at a port over some days.",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {"port": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 5}},
            "required": ["port", "days"],
        },
    },
]
INPUT = [{"role": "user", "content": "When can I sail from Looe?"}]
SEED = {"seed": 11}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("base_urls", nargs="+")
    arguments.add_argument("--api-key", default="none")
    arguments.add_argument("--model")
    arguments = arguments.parse_args()
    for base_url in arguments.base_urls:
        print("gateway:  ", base_url)
        client = openai.OpenAI(base_url=base_url, api_key=arguments.api_key, max_retries=0, timeout=60)
        check(client, arguments.model or client.models.list().data[0].id)
    print("all is well")


def stream(client, **request):
    """The final response of a stream, as the client itself folds it, and the types of its events."""
    kinds = []
    with client.responses.stream(**request) as events:
        for number, event in enumerate(events):
            assert event.sequence_number == number, event
            kinds.append(event.type)
        return events.get_final_response(), kinds


def parts(response):
    """What an answer says: the thought, the text, the calls."""
    thought = "".join(part.text for item in response.output if item.type == "reasoning" for part in item.content)
    calls = [(item.name, item.arguments) for item in response.output if item.type == "function_call"]
    return thought, response.output_text, calls


def check(client, model):
    request = dict(model=model, input=INPUT, tools=TOOLS, extra_body=SEED)
    streamed, kinds = stream(client, **request)
    thought, text, calls = parts(streamed)
    print("reasoning:", thought)
    print("content:  ", text)
    for name, arguments in calls:
        print("call:     ", name, arguments)
    assert thought.strip() and text.strip(), streamed
    assert kinds[:2] == ["response.created", "response.in_progress"] and kinds[-1] == "response.completed", kinds
    for kind in ["reasoning_text", "output_text", "function_call_arguments"]:
        assert kinds.count(f"response.{kind}.delta") > 1, kinds
    assert streamed.status == "completed" and streamed.usage.output_tokens_details.reasoning_tokens > 0, streamed
    assert len(calls) == 2, calls
    for name, arguments in calls:
        arguments = json.loads(arguments)
        assert isinstance(arguments["port"], str), arguments
        assert name in ("tide", "wind") and len(arguments) == 2, (name, arguments)

    whole = client.responses.create(**request)
    assert parts(whole) == parts(streamed), whole

    results = [
        {"type": "function_call_output", "call_id": item.call_id, "output": "at noon"}
        for item in whole.output
        if item.type == "function_call"
    ]
    spoken = INPUT + [item.model_dump(exclude_none=True) for item in whole.output] + results
    answer, _ = stream(client, **{**request, "input": spoken})
    print("answer:   ", answer.output_text)
    assert answer.output_text.strip() and not parts(answer)[2], answer

    log = {"type": "custom", "name": "log", "description": "Writes a line."}
    request = dict(model=model, input="Write it down.", tools=[log], tool_choice="required", parallel_tool_calls=False)
    answer, kinds = stream(client, **request)
    item = answer.output[-1]
    print("custom:   ", item.name, item.input)
    assert item.type == "custom_tool_call" and item.name == "log" and item.input, item
    assert "response.custom_tool_call_input.done" in kinds, kinds

    cut = client.responses.create(model=model, input=INPUT, max_output_tokens=4)
    assert cut.status == "incomplete" and cut.incomplete_details.reason == "max_output_tokens", cut

    try:
        client.responses.create(model=model, input="And?", previous_response_id=answer.id)
    except openai.BadRequestError as error:
        assert error.param == "previous_response_id", error.body
    else:
        raise AssertionError("responses are not kept")
    try:
        client.responses.retrieve(answer.id)
    except openai.NotFoundError:
        pass
    else:
        raise AssertionError("responses are not kept")


if __name__ == "__main__":
    main()
