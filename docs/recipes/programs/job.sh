#!/bin/sh
# Purpose: a batch job for the recipe of Slurm. The site exports nothing into it, so the script sets what it needs.
#SBATCH --ntasks=2 --export=NONE --output=job.log
export PATH="$HOME/.local/bin:$HOME/venv/bin:/usr/bin:/bin" # of memtrace and python
memtrace doctor | grep -A1 'launcher srun'
export SLURM_EXPORT_ENV=ALL
memtrace doctor | grep 'launcher srun'
srun memtrace run -o "traces/$SLURM_JOB_ID" -- python train.py
