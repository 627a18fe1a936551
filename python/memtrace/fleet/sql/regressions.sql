-- Purpose: lines that hold more in a rank of the last job than in a rank of the job before it.
-- A line is shown if the mean of the ranks rose by 1 MiB and by a hundredth of the whole.
WITH started AS (
  SELECT p.job, MIN(p.start_unix) AS start, COUNT(DISTINCT p.process) AS ranks
  FROM ranks p GROUP BY 1
), numbered AS (
  SELECT s.*, ROW_NUMBER() OVER (ORDER BY s.start DESC, s.job DESC) AS age FROM started s
), two AS (
  SELECT MAX(CASE WHEN n.age = 2 THEN n.job END) AS before_job, MAX(CASE WHEN n.age = 1 THEN n.job END) AS after_job,
         MAX(CASE WHEN n.age = 2 THEN n.ranks END) AS before_ranks,
         MAX(CASE WHEN n.age = 1 THEN n.ranks END) AS after_ranks
  FROM numbered n WHERE n.age <= 2
), lines AS (
  SELECT k.job, CASE WHEN k.memory = 'host' THEN 'host' ELSE 'gpu' END AS memory, k.role,
         COALESCE(k.own_line, '(no line)') AS line, SUM(k.bytes - COALESCE(k.untouched, 0)) AS bytes
  FROM peaks k JOIN ranks p ON p.job = k.job AND p.process = k.process
  WHERE k.leads GROUP BY 1, 2, 3, 4
), sides AS (
  SELECT t.before_job, t.after_job, l.memory, l.role, l.line,
         SUM(CASE WHEN l.job = t.before_job THEN l.bytes ELSE 0 END) / MAX(t.before_ranks) AS before_mean,
         SUM(CASE WHEN l.job = t.after_job THEN l.bytes ELSE 0 END) / MAX(t.after_ranks) AS after_mean
  FROM lines l CROSS JOIN two t
  WHERE l.job = t.before_job OR l.job = t.after_job GROUP BY 1, 2, 3, 4, 5
), totals AS (
  SELECT s.memory, SUM(s.before_mean) AS before_mean FROM sides s GROUP BY 1
)
SELECT s.before_job, s.after_job, s.memory, s.line, s.role, CAST(FLOOR(s.before_mean) AS BIGINT) AS before_bytes,
       CAST(FLOOR(s.after_mean) AS BIGINT) AS after_bytes, CAST(FLOOR(s.after_mean - s.before_mean) AS BIGINT) AS more_bytes
FROM sides s JOIN totals t ON t.memory = s.memory
WHERE s.after_mean - s.before_mean >= 1048576 AND s.after_mean - s.before_mean >= t.before_mean / 100
ORDER BY s.after_mean - s.before_mean DESC, s.memory, s.line, s.role
