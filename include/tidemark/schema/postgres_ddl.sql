-- Has DDL of this database written into its log, beside the rows that it concerns: as logical
-- messages with the prefix tidemark, which Debezium sends to the topic <topic.prefix>.message.
-- Run it once in each database, as a superuser; PostgreSQL 14 or newer. It can be run again.
-- What it made goes with: DROP SCHEMA tidemark_ddl CASCADE;

BEGIN;

CREATE SCHEMA IF NOT EXISTS tidemark_ddl;
COMMENT ON SCHEMA tidemark_ddl IS 'Writes what DDL does to tables into the log.';

-- Earlier ones must not see the functions change.
DROP EVENT TRIGGER IF EXISTS tidemark_begin_ddl;
DROP EVENT TRIGGER IF EXISTS tidemark_end_ddl;
DROP FUNCTION IF EXISTS tidemark_ddl.tables();

-- Every table that a connector may send, by its number. A column's fill is what rows hold in it
-- that were there before it; file tells whether rows were rewritten. The xmin of catalogue rows
-- tell who wrote them, and the key has the numbers of columns. Of a partition, path has the xmin of
-- its ancestors, and root is the number of the topmost one.
CREATE OR REPLACE FUNCTION tidemark_ddl.states() RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog
SET DateStyle = 'ISO' SET IntervalStyle = 'iso_8601' SET TimeZone = 'UTC' SET bytea_output = 'hex'
AS $$
    SELECT coalesce(jsonb_object_agg(c.oid, jsonb_build_object(
        'xmin', c.xmin::text,
        'schema_xmin', n.xmin::text,
        'schema', n.nspname,
        'name', c.relname,
        'file', c.relfilenode,
        'is_partitioned', c.relkind = 'p',
        'root', r.root,
        'path', coalesce(r.path, '{}'),
        'key_index', k.indexrelid,
        'key_xmin', k.xmin::text,
        'key', coalesce(k.numbers, '[]'),
        'columns', coalesce(a.columns, '{}')
    )), '{}')
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN LATERAL (
        SELECT i.indexrelid, i.xmin, (
            SELECT jsonb_agg(p.attnum ORDER BY p.place)
            FROM unnest(i.indkey) WITH ORDINALITY AS p(attnum, place)
            WHERE p.place <= i.indnkeyatts
        ) AS numbers
        FROM pg_index i
        WHERE i.indrelid = c.oid AND i.indisprimary
    ) k ON true
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(a.attnum, jsonb_build_object(
            'xmin', a.xmin::text,
            'default_xmin', d.xmin::text,
            'number', a.attnum,
            'name', a.attname,
            'type', CASE t.typtype
                WHEN 'e' THEN 'text'
                WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
                ELSE format_type(a.atttypid, a.atttypmod)
            END,
            'fill', (a.attmissingval::text::text[])[1],
            'is_computed',
                a.attidentity <> '' OR d.oid IS NOT NULL OR t.typdefault IS NOT NULL,
            'is_generated', a.attgenerated <> ''
        )) AS columns
        FROM pg_attribute a
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    ) a ON true
    LEFT JOIN LATERAL (
        WITH RECURSIVE ancestors(oid, level) AS (
            SELECT i.inhparent, 1 FROM pg_inherits i WHERE i.inhrelid = c.oid AND c.relispartition
            UNION ALL
            SELECT i.inhparent, p.level + 1
            FROM ancestors p JOIN pg_inherits i ON i.inhrelid = p.oid
        )
        SELECT jsonb_object_agg(p.oid, p.xmin::text) AS path,
            (array_agg(p.oid::text ORDER BY level DESC))[1] AS root
        FROM ancestors JOIN pg_class p USING (oid)
    ) r ON true
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
$$;

-- Whether this transaction, or a savepoint of it, wrote a row that is new since the statement
-- began. Others whose rows are visible have committed.
CREATE OR REPLACE FUNCTION tidemark_ddl.is_own(xmin text) RETURNS boolean
LANGUAGE sql
SET search_path = pg_catalog
AS $$
    -- The row has the lower 32 bits of a number; what is below ours cannot be of a savepoint.
    SELECT CASE
        WHEN ahead >= 0 THEN pg_xact_status((own + ahead)::text::xid8) = 'in progress'
        ELSE false
    END
    FROM (SELECT pg_current_xact_id_if_assigned()::text::bigint AS own) o, LATERAL (
        SELECT (xmin::bigint - own % 4294967296 + 6442450944) % 4294967296 - 2147483648 AS ahead
    ) a
$$;

-- Whether another session wrote a row since the statement began.
CREATE OR REPLACE FUNCTION tidemark_ddl.is_foreign(old_xmin text, new_xmin text) RETURNS boolean
LANGUAGE sql
SET search_path = pg_catalog
AS $$
    SELECT new_xmin IS DISTINCT FROM old_xmin AND NOT tidemark_ddl.is_own(new_xmin)
$$;

-- Whether it was this transaction that dropped a table or an index.
CREATE OR REPLACE FUNCTION tidemark_ddl.has_dropped(relation oid) RETURNS boolean
LANGUAGE sql
SET search_path = pg_catalog
AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks l
        WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.granted
        AND l.mode = 'AccessExclusiveLock' AND l.relation = has_dropped.relation
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
$$;

-- What a table, and its columns, would be without what this transaction did to them since old.
CREATE OR REPLACE FUNCTION tidemark_ddl.without_own(relation oid, old jsonb, new jsonb)
RETURNS jsonb
LANGUAGE sql
SET search_path = pg_catalog
AS $$
    SELECT old || CASE
        WHEN tidemark_ddl.is_foreign(old->>'xmin', new->>'xmin') THEN
            jsonb_build_object(
                'schema', new->'schema',
                'name', new->'name',
                'file', new->'file',
                'root', new->'root'
            )
        WHEN old->>'xmin' = new->>'xmin'
        AND tidemark_ddl.is_foreign(old->>'schema_xmin', new->>'schema_xmin') THEN
            jsonb_build_object('schema', new->'schema')
        ELSE '{}'
    END || CASE
        WHEN EXISTS (
            SELECT FROM jsonb_each_text(old->'path') o JOIN jsonb_each_text(new->'path') n USING (key)
            WHERE tidemark_ddl.is_foreign(o.value, n.value)
        ) THEN jsonb_build_object('root', new->'root')
        ELSE '{}'
    END || jsonb_build_object(
        'key', CASE
            WHEN old->>'key_index' = new->>'key_index' THEN new->'key'
            WHEN new->>'key_index' IS NULL AND tidemark_ddl.has_dropped((old->>'key_index')::oid)
                THEN old->'key'
            WHEN new->>'key_index' IS NOT NULL AND tidemark_ddl.is_own(new->>'key_xmin')
                THEN old->'key'
            ELSE new->'key'
        END,
        'columns', (
            SELECT coalesce(jsonb_object_agg(number, CASE
                WHEN o.value IS NULL THEN n.value
                WHEN n.value IS NULL THEN o.value
                WHEN tidemark_ddl.is_foreign(o.value->>'xmin', n.value->>'xmin') THEN n.value
                WHEN o.value->>'xmin' = n.value->>'xmin' AND n.value->>'default_xmin' IS NOT NULL
                AND tidemark_ddl.is_foreign(o.value->>'default_xmin', n.value->>'default_xmin')
                    THEN n.value
                ELSE o.value
            END), '{}')
            FROM jsonb_each(old->'columns') o(number, value)
            FULL JOIN jsonb_each(new->'columns') n(number, value) USING (number)
            WHERE CASE
                -- Whoever adds a column writes the row of the table, too.
                WHEN o.value IS NULL THEN NOT (
                    tidemark_ddl.is_own(n.value->>'xmin')
                    AND NOT tidemark_ddl.is_foreign(old->>'xmin', new->>'xmin')
                )
                WHEN n.value IS NULL THEN (
                    SELECT tidemark_ddl.is_own(a.xmin::text)
                    FROM pg_attribute a
                    WHERE a.attrelid = relation AND a.attnum = number::int
                )
                ELSE true
            END
        )
    )
$$;

-- A table as messages have it. The log has no values of generated columns, so they are but numbers.
CREATE OR REPLACE FUNCTION tidemark_ddl.shown(state jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT
SET search_path = pg_catalog
AS $$
    SELECT jsonb_build_object(
        'schema', state->'schema',
        'name', state->'name',
        'file', state->'file',
        'is_partitioned', state->'is_partitioned',
        'root', state->'root',
        'key', (
            SELECT coalesce(jsonb_agg(state->'columns'->number->'name' ORDER BY place), '[]')
            FROM jsonb_array_elements_text(state->'key') WITH ORDINALITY AS k(number, place)
            WHERE state->'columns' ? number
        ),
        'columns', (
            SELECT coalesce(
                jsonb_agg(
                    value - '{xmin,default_xmin,is_generated}'::text[] ORDER BY number::int
                ), '[]'
            )
            FROM jsonb_each(state->'columns') AS c(number, value)
            WHERE NOT (value->>'is_generated')::boolean
        ),
        'generated', (
            SELECT coalesce(jsonb_agg(value->'number' ORDER BY number::int), '[]')
            FROM jsonb_each(state->'columns') AS c(number, value)
            WHERE (value->>'is_generated')::boolean
        )
    )
$$;

-- The columns, by table, whose values this transaction renamed with a label of an enum since old.
CREATE OR REPLACE FUNCTION tidemark_ddl.relabeled(old jsonb, states jsonb) RETURNS jsonb
LANGUAGE sql
SET search_path = pg_catalog
AS $$
    WITH RECURSIVE types(oid) AS (
        SELECT e.enumtypid
        FROM jsonb_each(old) o JOIN pg_enum e ON e.oid = o.key::oid
        WHERE e.enumlabel <> o.value->>'label'
        AND NOT tidemark_ddl.is_foreign(o.value->>'xmin', e.xmin::text)
        UNION
        SELECT t.oid FROM types p JOIN pg_type t ON p.oid IN (t.typelem, t.typbasetype)
            OR EXISTS (
                SELECT FROM pg_attribute a
                WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND a.atttypid = p.oid
            )
            OR EXISTS (
                SELECT FROM pg_range r
                WHERE r.rngsubtype = p.oid AND t.oid IN (r.rngtypid, r.rngmultitypid)
            )
    ), columns AS (
        SELECT s.value AS state, jsonb_agg(a.attname ORDER BY a.attnum) AS names
        FROM jsonb_each(states) s JOIN pg_attribute a ON a.attrelid = s.key::oid
        WHERE a.attnum > 0 AND a.atttypid IN (SELECT oid FROM types)
        GROUP BY s.key, s.value
    )
    SELECT jsonb_agg(jsonb_build_object(
        'schema', state->'schema', 'name', state->'name', 'columns', names
    ))
    FROM columns
$$;

CREATE OR REPLACE FUNCTION tidemark_ddl.begin_ddl() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog
AS $$
BEGIN
    -- For the session: CREATE INDEX CONCURRENTLY ends in another transaction than it begins.
    PERFORM set_config('tidemark.states', tidemark_ddl.states()::text, false);
    IF tg_tag = 'ALTER TYPE' THEN
        PERFORM set_config('tidemark.labels', (
            SELECT jsonb_object_agg(oid, jsonb_build_object('xmin', xmin::text, 'label', enumlabel))
            FROM pg_enum
        )::text, false);
    END IF;
END
$$;

-- Others may have committed since the statement began; what they did is in their own messages.
CREATE OR REPLACE FUNCTION tidemark_ddl.end_ddl() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog
AS $$
DECLARE
    old jsonb := nullif(current_setting('tidemark.states', true), '');
    new jsonb := tidemark_ddl.states();
    changes jsonb;
    relabeled jsonb;
    roots jsonb;
BEGIN
    SELECT jsonb_agg(jsonb_build_object('before', b.shown, 'after', a.shown) ORDER BY key::oid)
    INTO changes
    FROM jsonb_each(old) o FULL JOIN jsonb_each(new) n USING (key),
    LATERAL (SELECT tidemark_ddl.shown(n.value) AS shown) a,
    LATERAL (SELECT tidemark_ddl.shown(CASE
        WHEN n.value IS NULL OR o.value IS NULL THEN o.value
        ELSE tidemark_ddl.without_own(key::oid, o.value, n.value)
    END) AS shown) b
    WHERE old IS NOT NULL AND n.value IS DISTINCT FROM o.value AND CASE
        WHEN o.value IS NULL THEN tidemark_ddl.is_own(n.value->>'xmin')
        WHEN n.value IS NULL THEN tidemark_ddl.has_dropped(key::oid)
        ELSE b.shown IS DISTINCT FROM a.shown
    END;
    IF tg_tag = 'ALTER TYPE' THEN
        relabeled := tidemark_ddl.relabeled(
            nullif(current_setting('tidemark.labels', true), '')::jsonb, new
        );
    END IF;
    -- Through these, connectors get the rows of their partitions.
    SELECT jsonb_object_agg(key, jsonb_build_object('schema', s->'schema', 'name', s->'name'))
    INTO roots
    FROM (
        SELECT DISTINCT state->>'root' AS key
        FROM jsonb_array_elements(changes) c, jsonb_each(c) AS states(side, state)
        WHERE EXISTS (SELECT FROM pg_publication p WHERE p.pubviaroot)
    ) r, LATERAL (SELECT new->key AS s) n
    WHERE s IS NOT NULL;
    IF changes IS NOT NULL OR relabeled IS NOT NULL THEN
        PERFORM pg_logical_emit_message(true, 'tidemark', jsonb_build_object(
            'version', 1,
            'tag', tg_tag,
            'statement', left(current_query(), 10000),
            'tables', coalesce(changes, '[]'),
            'relabeled', coalesce(relabeled, '[]'),
            'roots', coalesce(roots, '{}')
        )::text);
    END IF;
    PERFORM set_config('tidemark.states', new::text, false);
END
$$;

CREATE EVENT TRIGGER tidemark_begin_ddl ON ddl_command_start EXECUTE FUNCTION tidemark_ddl.begin_ddl();
CREATE EVENT TRIGGER tidemark_end_ddl ON ddl_command_end EXECUTE FUNCTION tidemark_ddl.end_ddl();

COMMIT;
