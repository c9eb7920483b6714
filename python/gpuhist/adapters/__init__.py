"""gpuhist in the engines that curators use: one module for each, which is imported on demand and needs its package.

Each has `count(data, column, ...)` and `filter(data, column, ...)`, or the classes that its engine wants. Options are those
of `gpuhist.count_table`; the engine divides the work, so a task uses one core and no GPU, unless options say so. Tasks return what they have
found, and only returned parts are added: a task that an engine runs again is not counted twice.
"""
