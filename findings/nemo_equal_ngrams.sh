#!/usr/bin/env bash
# RepeatingTopNGramsFilter of NeMo Curator removes the most frequent n-gram from a text, and drops the document if it shrinks
# by more than a fifth. If two n-grams are equally frequent, it takes the first one of a set of tuples of strings. Their
# order depends on the hashes of the process, which Python chooses at random: a document is kept in one run and dropped in
# the next.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
install_python nemo-curator==1.4.0 regex==2026.11.19 loguru==0.7.3
find python/nemo_curator -name __init__.py -exec truncate -s 0 {} +  # they require Ray; the filters do not
cat >decide.py <<'PYTHON'
from nemo_curator.stages.text.filters.heuristic.repetition.repetition import RepeatingTopNGramsFilter

made = RepeatingTopNGramsFilter()  # 2-grams, at most 0.2

# "international organizations" and "of the" are there three times, all others at most twice.
text = ("The members of the council met. They asked international organizations for help, and most of the answers came late. "
        "Some international organizations sent people, others sent money. At the end of the year, international organizations "
        "had paid for half of it.")
print("kept" if made.keep_document(made.score_document(text)) else "dropped")
PYTHON
decisions=$(for seed in {1..20}; do PYTHONHASHSEED=$seed python3 decide.py; done | sort | uniq -c | sed 's/^ *//' | paste -sd ' ')
printf 'the same document, 20 values of PYTHONHASHSEED: %s\n' "$decisions"
expect "decisions" "dropped kept" "$(tr -d '0-9' <<<"$decisions" | xargs)"
expect "two runs with PYTHONHASHSEED=1" equal "$([[ $(PYTHONHASHSEED=1 python3 decide.py) == $(PYTHONHASHSEED=1 python3 decide.py) ]] && echo equal)"
