#!/usr/bin/env bash
# A document of line feeds only passes the first filter of NeMo Curator's configuration for English: NonAlphaNumericFilter
# counts a line feed as alphanumeric. The second one, SymbolsToWordsFilter, divides by its number of words and raises an
# exception, so that one such document ends the run. Other filters handle documents without words: WordCountFilter drops them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
install_python nemo-curator==1.4.0 regex==2026.11.19 loguru==0.7.3
find python/nemo_curator -name __init__.py -exec truncate -s 0 {} +  # they require Ray; the filters do not
cat >decide.py <<'PYTHON'
import sys

from nemo_curator.stages.text.filters.heuristic import string

made = getattr(string, sys.argv[1])()
try:
    print("kept" if made.keep_document(made.score_document("\n\n")) else "dropped")
except ZeroDivisionError as error:
    print(f"ZeroDivisionError: {error}")
PYTHON
order=$(grep -o 'string\.[A-Za-z]*Filter' python/nemo_curator/config/text/heuristic_filter_english_pipeline.yaml | sed 's/string\.//' | head -2 | paste -sd ' ')
expect 'first filters of the configuration' 'NonAlphaNumericFilter SymbolsToWordsFilter' "$order"
expect 'NonAlphaNumericFilter, two line feeds' kept "$(python3 decide.py NonAlphaNumericFilter)"
expect 'SymbolsToWordsFilter' 'ZeroDivisionError: division by zero' "$(python3 decide.py SymbolsToWordsFilter)"
expect 'WordCountFilter' dropped "$(python3 decide.py WordCountFilter)"
