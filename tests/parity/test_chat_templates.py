"""Chat templates against transformers' rendering: in the manners of the families, and with all that templates use."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.text.chat import ChatTemplate

TOKENS = {"bos_token": "<bos>", "eos_token": "<eos>"}

TEMPLATES = {
    # Qwen, Dream, SDAR and SmolLM2: a turn between two markers, and a system turn that is there by default.
    "markers": """{% for m in messages %}{% if loop.first and m['role'] != 'system' %}<|im_start|>system
Be of use.<|im_end|>
{% endif %}<|im_start|>{{ m['role'] }}
{{ m['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}""",
    # Llama 3 and LLaDA: headers, and a date if the caller can say one.
    "headers": """{{- bos_token }}
{%- set today = strftime_now("%d %b %Y") if strftime_now is defined else "unknown" %}
{%- for m in messages %}
    {%- set text = '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' %}
    {{- text }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
{{- today | length }}""",
    # Gemma: the system turn goes into the first of the user, roles have names of their own and must alternate.
    "turns": """{{ bos_token }}{% set rest = messages %}{% set lead = '' %}
{%- if messages[0].role == 'system' %}{% set lead = messages[0].content + '\\n\\n' %}
{%- set rest = messages[1:] %}{% endif %}
{%- for m in rest -%}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate.') }}{% endif -%}
<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}
{{ lead if loop.first }}{{ m.content | trim }}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}""",
    # LLaDA2: roles in capitals, and a switch on the last turn that is remembered in a namespace.
    "roles": """{% set ns = namespace(last=-1, thinks=false) %}
{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{% for m in messages %}<role>{{ m.role | upper }}</role>
{% if loop.index0 == ns.last and not ns.thinks %}detailed{% endif %}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}
{%- else %}{{ m.content }}{% endif %}
{% endfor %}{% if add_generation_prompt %}<role>ASSISTANT</role>{% endif %}""",
    # Tools and other data.
    "json": """{% for m in messages %}{% if m.extra is defined %}{{ m.extra | tojson }}{{ m.extra | tojson(indent=2) }}
{{ m.extra | tojson(sort_keys=true, separators=(',', ':')) }}{% endif %}{% if loop.index > 2 %}{% break %}{% endif %}
{% if m.content is string %}{{ m.content.split('\\n')[-1].lstrip() }}
{%- else %}{% for part in m.content %}{{ part.text }}|{% endfor %}{% endif %}
{% endfor %}{{ tools is none }}{{ documents is none }}""",
}
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one turn": [{"role": "user", "content": "  What?\n"}],
    "system": [{"role": "system", "content": "Short."}, {"role": "user", "content": "What?"}],
    "several turns": [
        {"role": "user", "content": "a & b < c"},
        {"role": "assistant", "content": "naïve: 日本\n"},
        {"role": "user", "content": "third\n line "},
    ],
    "astray": [{"role": "assistant", "content": "I begin."}, {"role": "assistant", "content": "And go on."}],
    "data": [{"role": "user", "content": "x", "extra": {"b": [1, None, "ü<&>"], "a": {"c": True}}}],
}


@pytest.mark.parametrize("add_generation_prompt", [False, True])
@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS)
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_rendering(template: str, messages: list[dict[str, Any]], add_generation_prompt: bool) -> None:
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    jinja2 = pytest.importorskip("jinja2")
    from sfumato.errors import RequestError

    ours = ChatTemplate(template, TOKENS)
    try:
        (expected,), _ = utils.render_jinja_template(
            [messages], chat_template=template, add_generation_prompt=add_generation_prompt, **TOKENS
        )
    except jinja2.TemplateError as error:
        with pytest.raises(RequestError, match=str(error)):
            ours.render(messages, add_generation_prompt)
    else:
        assert ours.render(messages, add_generation_prompt) == expected
