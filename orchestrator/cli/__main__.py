import sys

from orchestrator.cli.process import command

# What people read in messages and in the lock file of a database is the command, however it was started.
sys.argv[0] = "graphmill"
command()
