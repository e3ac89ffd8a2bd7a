"""Renders chat templates with Python's Jinja2, set up as the `transformers` library sets it up: the other side of the test.

Reads `{"templates": {name: text}, "contexts": {name: context}, "moment": iso}` and writes, for each template and context,
`{"text": …}` or `{"error": …}`.
"""

import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """`{% generation %}`: a block that is rendered as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("said"), [], [], body).set_lineno(line)

    def said(self, caller):
        return caller()


def environment(moment):
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = moment.strftime
    return made


def rendered(made, source, contexts):
    """The template's text for each context."""

    def attempt(work):
        try:
            return {"text": work()}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    compiled = attempt(lambda: made.from_string(source))
    if "error" in compiled:
        return dict.fromkeys(contexts, compiled)
    template = compiled["text"]
    return {name: attempt(lambda: template.render(**context)) for name, context in contexts.items()}


def main():
    job = json.load(sys.stdin)
    made = environment(datetime.datetime.fromisoformat(job["moment"]))
    answer = {
        name: rendered(made, source, job["contexts"]) for name, source in job["templates"].items()
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
