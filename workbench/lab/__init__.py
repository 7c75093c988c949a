"""The prompt lab: recorded requests are sent again, with several prompts, and the answers are counted.

    case      a recorded request, and what its answer should be
    variant   a way to ask: a prompt template, a dialect, a model, switches of the policy, members of the body
    trial     one case, asked once with one variant
    plan      all trials of a try, in the order in which they are sent
    outcome   what became of one trial; its exchange is a tape in the library like any other
    table     the outcomes counted: rates and means with their intervals, and which differences are called

`plan` and `suite` say what is to be done, `trials` does it through a proxy, `store` keeps it on disk,
`outcomes` judges one exchange, `statistics` counts, `report` and `page` write the result down.
"""
