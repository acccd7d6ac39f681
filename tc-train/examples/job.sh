#!/bin/bash
# A training run that survives preemption: Slurm sends USR1 two minutes before the end of the time or when the job is preempted,
# tc-train saves and leaves with 75, the job is queued again and goes on where it was.   sbatch job.sh
#SBATCH --job-name=gpt
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=4
#SBATCH --time=4:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -u -o pipefail
cd "${SLURM_SUBMIT_DIR:-.}"

# The program is exported once; later starts find it.
[ -e gpt-train.pt2 ] || tc-export gpt.py:GPT --arg n_layer=4 --input idx=BxTxi64 --dim B=1..64 --dim T=1..256 -o gpt-train.pt2 || exit

srun --signal=USR1@60 tc-train gpt.yaml steps=20000 --resume -o run < gpt-train.pt2 &
step=$!
trap 'kill -USR1 $step' USR1
wait $step
code=$?
# A trapped signal ends the first wait early: the code of the run is that of the second.
while kill -0 $step 2>/dev/null; do wait $step; code=$?; done

if [ $code -eq 75 ]; then
    echo "saved at $(readlink run/latest); queued again"
    scontrol requeue "$SLURM_JOB_ID"
    exit 0
fi
exit $code
