#!/bin/sh
# Brings an index up to date with a folder: new and changed files are indexed, and what is gone is deleted.
#
#   reindex.sh /srv/docs /srv/notes.usearch
#
# As a line of `crontab -e`, every hour; what fails is mailed, all else is silent:
#
#   MINIRAG_MODEL=openai/gpt-4o-mini
#   17 * * * *  /srv/reindex.sh /srv/docs /srv/notes.usearch
#
# A run that is still going on holds the index's lock, and the next one leaves at once. Readers of the index see the
# last whole commit all the time. Where more than half of the folder is gone, as when its disk is not mounted, nothing
# is deleted.
set -eu

if [ "$#" -ne 2 ]; then
    echo "usage: $0 FOLDER INDEX" >&2
    exit 2
fi

# An id is the path as it is given: an absolute one is the same wherever this runs.
folder=$(cd "$1" && pwd)
exec "${PYTHON:-python3}" -m minirag index "$folder" --index "$2" --prune --quiet
