"""How each change is asked for: one of each `[this|that]`, what is in braces filled in; `~` marks what is held out."""

POLITE = ("{}", "{}", "{}", "{}", "{} please", "now {}", "{}, thanks")
"""Around any wording."""
ASKING = ("please {}", "can you {}", "could you {}", "I want you to {}", "let's {}", "would you {}")
"""Before those that begin with a verb, which have a choice of verbs there."""

PHRASES = {
    "on": ("done", "ticked", "finished", "checked", "completed"),
    "off": ("open", "unfinished", "not done", "unchecked"),
}
"""What checkboxes are called that are ticked, or not."""
THEMES = {
    "dark": ("dark mode", "the dark theme", "a dark theme", "night mode"),
    "": ("light mode", "the light theme", "a light theme", "day mode"),
    "sepia": ("sepia", "the sepia theme", "sepia mode"),
    "contrast": ("high contrast", "the high contrast theme", "more contrast"),
}
"""By the word of the theme; empty for the light one."""
WORDINGS = {
    "delete": """
        [delete|remove|drop|erase|get rid of|take out|throw out] {ref}
        [delete|remove] {ref} [again|from the screen|completely]
        {ref}: [delete|remove]
        ~{ref} [has to go|can go|is not needed any more]
        ~I [don't need|no longer need] {ref}""",
    "delete_two": """
        [delete|remove|drop|erase|get rid of] {ref} and {other}
        [delete|remove] both {ref} and {other}
        ~neither {ref} nor {other} [is needed|should stay]""",
    "delete_state": """
        [delete|remove|clear|drop|erase] [all|all the|the|every] {state} [ones|items|tasks|entries]
        [delete|remove|clear] [everything|all] that is {state}
        [clear|clean] [out|up] [the|all] {state} [ones|items|tasks]
        ~whatever is {state} [can go|has to go]""",
    "delete_all": """
        [delete|remove|clear|erase] [everything in|all entries of|all of] the [list|table]
        [empty|clear] the [list|table]
        ~start over with an empty [list|table]""",
    "check": """
        [check|tick|tick off|check off|complete|finish] {ref}
        [mark|set] {ref} as [done|finished|completed]
        {ref} is [done|finished|complete]
        ~I [have done|have finished|took care of] {ref}""",
    "check_two": """
        [check|tick off|complete|finish] {ref} and {other}
        [mark|set] {ref} and {other} as [done|finished]
        ~we are through with {ref} and {other}""",
    "uncheck": """
        [uncheck|untick|reopen] {ref}
        [mark|set] {ref} as [open|not done|unfinished]
        {ref} is [not done|not finished|open again]
        ~{ref} [still has to be done|needs doing again]""",
    "check_all": """
        [check|tick|complete|finish] [all|everything|all items|all tasks]
        mark [all|everything|all tasks] as [done|finished]
        ~we have done it all""",
    "uncheck_all": """
        [uncheck|untick|reopen] [all|everything|all items|all tasks]
        mark [all|everything|all tasks] as [open|not done]
        ~nothing is done yet""",
    "color": """
        [make|color|paint|turn] {ref} {color}
        [set|change] the color of {ref} to {color}
        {ref} [in|should be|has to be] {color}
        [give|let] {ref} [be|a touch of] {color}
        ~I'd like {ref} better in {color}
        ~{color} [would suit|is the color for] {ref}""",
    "color_state": """
        [make|color|paint|turn] [all|the|all the] {state} [ones|items|tasks] {color}
        [show|paint] everything that is {state} in {color}
        ~{color} for whatever is {state}""",
    "uncolor": """
        [remove|drop|clear|reset] the color of {ref}
        [make|turn] {ref} [colorless|plain again|uncolored]
        ~{ref} [without|needs no] color""",
    "size": """
        [make|turn|render] {ref} {size}
        {ref} [should be|has to be|must be] {size}
        ~could we have {ref} {size}""",
    "align": """
        [put|place|show|align] {ref} {side}
        {ref} [should be|has to stand|belongs] {side}
        ~I want to see {ref} {side}""",
    "theme": """
        [use|switch to|turn on|change to|go to|set] {theme}
        {theme}
        [I prefer|I'd like] {theme}
        ~my eyes want {theme}
        ~how about {theme}""",
    "hide": """
        [hide|make invisible|cover] {ref}
        [stop showing|no longer show] {ref}
        ~{ref} should not be seen [for now|any more]""",
    "show": """
        [show|unhide|reveal|bring back] {ref}
        [show|display] {ref} again
        ~let me see {ref} again""",
    "hide_state": """
        [hide|stop showing] [all|the|all the] {state} [ones|items|tasks]
        hide [whatever|everything that] is {state}
        ~{state} ones [out of sight|should not be seen]""",
    "only_state": """
        [show|list|display] only [the|what is] {state}[| ones| items| tasks]
        [filter by|filter for|only] {state}[| ones| items| tasks]
        [show|keep] just the {state} [ones|items|tasks]
        ~I only care about the {state} [ones|tasks]""",
    "show_all": """
        [show|display|list] [everything|all|all entries][| again]
        [remove|clear|reset] [the filter|all filters]
        unhide [everything|all of them]
        ~let me see the whole [list|table][| again]""",
    "only_cell": """
        [show|list|display] only [rows|entries|those] [with|where] {column} [is |]{cell}
        filter [by|for] {column} {cell}
        ~I only care about {column} {cell}""",
    "mark": """
        [mark|highlight|flag|star] {ref}
        [put a mark on|draw attention to] {ref}
        ~{ref} is [important|urgent]""",
    "mark_state": """
        [mark|highlight|flag|star] [all|the|all the] {state} [ones|items|tasks]
        [mark|highlight] everything that is {state}
        ~whatever is {state} is [important|urgent]""",
    "disable": """
        [disable|deactivate|lock|block] {ref}
        [make|turn] {ref} [inactive|disabled]
        ~nobody should [use|touch] {ref}""",
    "require": """
        [make|set] {ref} [required|mandatory|compulsory]
        {ref} [is required|must be filled in|may not stay empty]
        ~nobody may leave out {ref}""",
    "number": """
        [number|enumerate] the [list|items|entries]
        [put|add|show] numbers [to|in|on] the list
        ~I want to count [them|along]""",
    "value": """
        [set|put|move|change] {ref} to {value}[| percent|%]
        {ref} [is at|should be at|to] {value}[| percent|%]
        ~{value}[| percent|%] for {ref}""",
    "chart": """
        [make|turn] {ref} [a|into a] {form} chart
        [show|draw] {ref} as a {form}[| chart]
        ~I read {form} charts better than {ref}""",
    "rename": """
        [rename|change|relabel|retitle] {ref} to {text}
        [call|name] {ref} {text}
        [replace|exchange] {ref} [with|by] {text}
        [let|make] {ref} say {text}
        ~{ref} should [read|be called] {text}
        ~the [text|name] for {ref} is {text} from now on""",
    "add": """
        [add|append|insert|put] {text}
        [add|append] [another|a new|one more] {noun} {text}
        [add|put] {text} [to|on] the [list|table|end]
        [new|one more|another] {noun}: {text}
        ~[I also need|we forgot|don't forget|there is also] {text}""",
    "add_first": """
        [add|put|insert] {text} [at the top|at the beginning|first]
        [add|insert] a [new|] {noun} {text} [at the top|before all others]
        ~start with {text}""",
    "add_two": """
        [add|append|insert|put in] {texts}
        [new|two more] items: {texts}
        ~[we forgot|I also need] {texts}""",
    "add_beside": """
        [add|insert|put] {text} [right |]{place} {ref}
        {place} {ref} [add|insert|put] {text}
        ~{text} belongs {place} {ref}""",
    "add_part": """
        [add|insert|put in|create] {noun} {text}{where}
        [add|insert|create] {noun} [called|named|that says|with the text] {text}{where}
        I [need|want] {noun} {text}{where}
        ~there should be {noun} {text}{where}""",
    "move": """
        [move|push|bring|put|send] {ref} {end}
        {ref} {end}
        ~{ref} [belongs|should go] {end}""",
    "move_to": """
        [move|put|place|drag] {ref} [right |]{place} {other}
        ~{ref} [belongs|should stand] {place} {other}""",
    "swap": """
        [swap|exchange|switch] {ref} and {other}
        [swap|exchange] {ref} with {other}
        ~{ref} and {other} should trade places""",
    "copy": """
        [duplicate|copy|clone|double] {ref}
        [make|create|add] a copy of {ref}
        ~I need {ref} twice""",
    "sort": """
        [sort|order|arrange] [them|it|the list|everything|all] by name{way}
        [sort|order|arrange] [them|the list|the items|everything] alphabetically{way}
        [sort|order] by name{way}
        ~[alphabetical order|put it in alphabetical order]{way}""",
    "sort_state": """
        [sort|order|arrange] by state, {state} [ones |]first
        [put|show|list] the {state} ones first
        ~{state} ones [belong on|go to the] top""",
    "sort_column": """
        [sort|order|arrange] [them|it|the table|everything|the rows] by {column}{way}
        [sort|order] by {column}{way}
        ~{column} should decide the order{way}""",
    "column": """
        [add|insert|create] a {column} column{fill}
        [add|insert] a[| new] column [called|named|for] {column}{fill}
        [new|another] column {column}{fill}
        ~I [miss|need] a {column} column{fill}""",
    "drop": """
        [delete|remove|drop] the {column} column
        [delete|remove|drop] [column|the column] {column}
        ~nobody [needs|looks at] the {column} column""",
    "head": """
        rename [the column|column] {column} to {text}
        [call|name] the {column} column {text}
        ~the {column} column should be headed {text}""",
    "cell": """
        [set|change] [the |]{column} of {ref} to {value}
        {column} of {ref} [is|should be] {value}
        [put|enter|write] {value} [in|as] [the |]{column} of {ref}
        ~{ref} has {column} {value}""",
    "two_things": """
        [make|turn|color|paint] {ref} {color} and [delete|remove|drop] {other}
        [make|turn] {ref} {color}, then [delete|remove] {other}
        ~{color} for {ref}, and {other} can go""",
    "theme_too": """
        [make|turn|color|paint] {ref} {color} and [use|switch to|turn on] [dark mode|the dark theme]
        ~{color} for {ref}, and all else dark""",
    "missing": """
        [delete|remove|hide|rename|duplicate|copy|get rid of|disable] {ref}
        [make|turn|color|paint] {ref} {color}
        [make|turn] {ref} [bigger|smaller|larger]
        ~{ref} [has to go|can go|should be bigger]""",
    "ambiguous": """
        [delete|remove|hide|duplicate|copy|disable|get rid of] {ref}
        [make|turn|color|paint] {ref} {color}
        ~{ref} [has to go|can go|should be bigger]""",
    "nonsense": """
        [make it|let it] [sing|dance|fly|cook|smell nice|talk|cry|laugh]
        [what is|what's] [the time|the weather|love|the capital of {name}|the meaning of life]
        [tell me a joke|play a song|order a pizza|be quiet]
        [who are you|how are you|hello|thank you|never mind|asdf|blah]
        [send a mail to|call|phone|fly to|drive to] {name}
        [translate it|print it|buy it|turn off the lights|open the door]
        ~[write a poem about|how old is|why is|what do you think of] {name}
        ~[bring me|pour me|make me] [a coffee|some tea|dinner]""",
}
"""By intent."""
