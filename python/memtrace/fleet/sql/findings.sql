-- Purpose: what the reports found, how many processes have it, and how much it is.
-- A finding about several processes together has no number of processes.
WITH found AS (
  SELECT f.job, f.id, f.memory, COALESCE(f.own_line, '-') AS line, f.process, f.rank, f.bytes,
         ROW_NUMBER() OVER (PARTITION BY f.job, f.id, f.memory, COALESCE(f.own_line, '-')
                            ORDER BY f.bytes DESC, f.rank, f.process) AS place
  FROM findings f
)
SELECT a.job, a.id AS finding, a.memory, a.line, COUNT(DISTINCT a.process) AS processes,
       CAST(SUM(a.bytes) AS BIGINT) AS all_bytes, CAST(MAX(a.bytes) AS BIGINT) AS highest_bytes,
       MAX(CASE WHEN a.place = 1 THEN a.rank END) AS highest_rank
FROM found a GROUP BY 1, 2, 3, 4
UNION ALL
SELECT j.job, j.id, j.memory, COALESCE(j.own_line, '-'), NULL, j.bytes, NULL, NULL FROM job_findings j
ORDER BY job, all_bytes DESC, finding, memory, line
