-- Has DDL of this database written into its log, beside the rows that it concerns: as logical
-- messages with the prefix tidemark, which Debezium sends to the topic <topic.prefix>.message.
-- Run it once in each database, as a superuser; PostgreSQL 14 or newer. It can be run again.
-- What it made goes with: DROP SCHEMA tidemark_ddl CASCADE;

BEGIN;

CREATE SCHEMA IF NOT EXISTS tidemark_ddl;
COMMENT ON SCHEMA tidemark_ddl IS 'Writes what DDL does to tables into the log.';

-- Every table that a connector may send, by its number. A column's fill is what rows hold in it
-- that were there before it; file tells whether rows were rewritten.
CREATE OR REPLACE FUNCTION tidemark_ddl.tables() RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog
SET DateStyle = 'ISO' SET IntervalStyle = 'iso_8601' SET TimeZone = 'UTC' SET bytea_output = 'hex'
AS $$
    SELECT coalesce(jsonb_object_agg(c.oid, jsonb_build_object(
        'schema', n.nspname,
        'name', c.relname,
        'file', c.relfilenode,
        'key', coalesce(k.names, '[]'),
        'columns', coalesce(a.columns, '[]')
    )), '{}')
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN LATERAL (
        SELECT jsonb_agg(a.attname ORDER BY p.place) AS names
        FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS p(attnum, place), pg_attribute a
        WHERE i.indrelid = c.oid AND i.indisprimary
        AND a.attrelid = c.oid AND a.attnum = p.attnum AND p.place <= i.indnkeyatts
    ) k ON true
    LEFT JOIN LATERAL (
        SELECT jsonb_agg(jsonb_build_object(
            'number', a.attnum,
            'name', a.attname,
            'type', CASE t.typtype
                WHEN 'e' THEN 'text'
                WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
                ELSE format_type(a.atttypid, a.atttypmod)
            END,
            'fill', (a.attmissingval::text::text[])[1],
            'is_computed', a.attidentity <> '' OR d.oid IS NOT NULL
        ) ORDER BY a.attnum) AS columns
        FROM pg_attribute a
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        -- The log has no values of generated columns.
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    ) a ON true
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
$$;

CREATE OR REPLACE FUNCTION tidemark_ddl.begin_ddl() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog
AS $$
BEGIN
    -- For the session: CREATE INDEX CONCURRENTLY ends in another transaction than it begins.
    PERFORM set_config('tidemark.tables', tidemark_ddl.tables()::text, false);
END
$$;

CREATE OR REPLACE FUNCTION tidemark_ddl.end_ddl() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog
AS $$
DECLARE
    before jsonb := nullif(current_setting('tidemark.tables', true), '');
    after jsonb := tidemark_ddl.tables();
    changes jsonb;
BEGIN
    SELECT jsonb_agg(jsonb_build_object('before', b.value, 'after', a.value) ORDER BY key::oid)
    INTO changes
    FROM jsonb_each(before) b FULL JOIN jsonb_each(after) a USING (key)
    WHERE a.value IS DISTINCT FROM b.value;
    IF changes IS NOT NULL THEN
        PERFORM pg_logical_emit_message(true, 'tidemark', jsonb_build_object(
            'version', 1, 'tag', tg_tag, 'statement', left(current_query(), 10000), 'tables', changes
        )::text);
    END IF;
    PERFORM set_config('tidemark.tables', after::text, false);
END
$$;

DROP EVENT TRIGGER IF EXISTS tidemark_begin_ddl;
DROP EVENT TRIGGER IF EXISTS tidemark_end_ddl;
CREATE EVENT TRIGGER tidemark_begin_ddl ON ddl_command_start EXECUTE FUNCTION tidemark_ddl.begin_ddl();
CREATE EVENT TRIGGER tidemark_end_ddl ON ddl_command_end EXECUTE FUNCTION tidemark_ddl.end_ddl();

COMMIT;
