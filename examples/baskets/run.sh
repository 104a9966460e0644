#!/bin/bash
# Shopping baskets, end to end: makes 3,000 baskets, starts a server, puts them into a collection, and
# asks which baskets are most like one of them, or nearly the same. Everything is in a folder that goes at the end.
#
# usage: examples/baskets/run.sh [BIN]    BIN: where the programs are (build/bin)
set -euo pipefail
bin=$(realpath -m "${1:-build/bin}")
for program in strata-server strata-admin; do
  [[ -x $bin/$program ]] || { echo "there is no $bin/$program: build it (./dev build), or name its folder" >&2; exit 2; }
done
folder=$(mktemp -d)
cd "$folder"

# A line a basket: numbers of products. There are 40 kinds of customers, who buy mostly out of 12
# products of their own, and now and then one of 400 others.
awk 'BEGIN {
  srand(7)
  for (basket = 0; basket < 3000; ++basket) {
    kind = int(rand() * 40)
    line = ""
    for (i = 0; i < 4 + int(rand() * 8); ++i) {
      product = rand() < 0.8 ? kind * 12 + int(rand() * 12) : 480 + int(rand() * 400)
      line = line (i ? "," : "") product
    }
    print line
  }
}' > baskets.txt

: > server.log
"$bin/strata-server" --port=0 --data="$folder/data" > server.log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$folder"' EXIT
until address=$(grep -om1 'ready: rank 0 tcp://[0-9.:]*' server.log); do
  kill -0 $server || { cat server.log >&2; exit 1; }
  sleep 0.1
done
admin() { "$bin/strata-admin" --server "${address##*//}" "$@"; }

admin collection create baskets
admin collection load baskets baskets.txt

first=$(head -1 baskets.txt)
echo "the five baskets most like $first, by Jaccard:"
admin collection search baskets --query "$first" --metric jaccard -k 5
echo "all that hold products 0, 1 and 5:"
admin collection search baskets --query 0,1,5 --metric containment_query --threshold 1

echo "all that are like basket 2541 by half or more:"
admin collection search baskets --like 2541 --metric jaccard --threshold 0.5
echo "how the second of these was answered:"
admin collection explain baskets --query 0,1,5 --metric containment_query --threshold 1
admin collection get baskets 2541 0
admin collection delete baskets 2541

# Baskets 0 to 9 again, a file each, and the answers as a file: milliseconds, then a line of ids a query.
mkdir queries
head -10 baskets.txt | awk '{ print > ("queries/" NR - 1) }'
admin collection search baskets --queries queries -k 3 --to answers.tsv
tail -n +2 answers.tsv

# A copy of all of it, as another collection.
admin collection export baskets backup
admin collection create copy
admin collection load copy backup
admin collection stats
admin collection drop copy --yes
admin collection drop baskets --yes
