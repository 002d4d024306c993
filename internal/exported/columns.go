package exported

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Columns returns the columns of events that a kind of destination gets; file downloads have S3's. Kinds that do not
// get rows, such as HTTP, have no columns. In tables that an older export made, the names can differ.
func Columns(kind string) []string { return columns[kind] }

// Kinds returns the kinds that have columns; "" stands for file downloads.
func Kinds() []string {
	return []string{"", "AwsS3", "AzureBlob", "BigQuery", "Databricks", "Postgres", "Redshift", "S3", "S3Compatible", "Snowflake"}
}

var columns = func() map[string][]string {
	// destinations/s3_batch_export.py s3_default_fields, over default_fields of batch_exports.py. File downloads too.
	s3 := []string{
		"uuid", "timestamp", "_inserted_at", "created_at", "event", "properties", "distinct_id", "elements_chain", "person_properties", "person_id",
	}
	// destinations/postgres_batch_export.py insert_into_postgres_activity_from_stage and postgres_default_fields;
	// destinations/redshift_batch_export.py redshift_default_fields. No table has _inserted_at.
	postgres := []string{"uuid", "event", "properties", "elements", "set", "set_once", "distinct_id", "team_id", "ip", "site_url", "timestamp"}
	return map[string][]string{
		"": s3, "S3": s3, "AwsS3": s3, "S3Compatible": s3, "Postgres": postgres, "Redshift": postgres,
		// destinations/azure_blob_batch_export.py azure_blob_default_fields, over events_model_default_fields
		"AzureBlob": {"uuid", "team_id", "timestamp", "_inserted_at", "event", "properties", "distinct_id", "azure_blob_ingested_timestamp"},
		// destinations/bigquery_batch_export.py bigquery_default_fields
		"BigQuery": {
			"uuid", "team_id", "timestamp", "event", "properties", "distinct_id", "set", "set_once", "ip", "elements", "site_url", "bq_ingested_timestamp",
		},
		// destinations/snowflake_batch_export.py snowflake_default_fields
		"Snowflake": {
			"uuid", "team_id", "timestamp", "event", "properties", "distinct_id", "ip", "elements", "site_url", "people_set", "people_set_once",
		},
		// destinations/databricks_batch_export.py databricks_default_fields
		"Databricks": {"uuid", "team_id", "timestamp", "event", "properties", "distinct_id", "databricks_ingested_timestamp"},
	}
}()

// Row is an event as the service stores it.
type Row struct {
	UUID, Event, DistinctID, PersonID string
	Properties                        []byte // JSON; none where empty
	Elements                          string // its chain
	TeamID                            int
	Timestamp, Created, Inserted      time.Time
}

// AppendText adds a line with the row as a destination has it: a line of a file, or the row of a table as its engine
// writes it as JSON (row_to_json of Postgres, an export of BigQuery to JSON, an unloading of the others). With asStored
// it is a row of Parquet, with the stored text as properties.
//
// Sources: pipeline/transformer.py dump_record_batch, dump_dict; utils.py JsonScalar; sql/events.py.
func (r Row) AppendText(b []byte, kind string, asStored bool) []byte {
	row := map[string]any{}
	for _, name := range columns[kind] {
		if value := r.value(kind, name, asStored); value != nil || kind != "BigQuery" { // whose exports leave out nulls
			row[name] = value
		}
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(row) //nolint:errchkjson // its raw members are valid
	return append(b, line.Bytes()...)
}

func (r Row) value(kind, name string, asStored bool) any {
	switch name {
	case "uuid":
		return r.UUID
	case "event":
		return r.Event
	case "distinct_id":
		return r.DistinctID
	case "person_id":
		return r.PersonID
	case "team_id":
		if kind == "BigQuery" { // an export to JSON has integers of 64 bits as texts
			return strconv.Itoa(r.TeamID)
		}
		return r.TeamID
	case "timestamp":
		return timeIn(kind, r.Timestamp)
	case "created_at":
		return timeIn(kind, r.Created)
	case "_inserted_at":
		return timeIn(kind, r.Inserted)
	case "properties":
		return object(kind, r.Properties, asStored)
	case "set", "people_set":
		return object(kind, r.member("$set"), asStored)
	case "set_once", "people_set_once":
		return object(kind, r.member("$set_once"), asStored)
	case "elements_chain":
		return r.Elements
	case "elements":
		return elements(kind, r.Elements)
	case "ip":
		var ip string
		if json.Unmarshal(r.member("$ip"), &ip) != nil || ip == "" {
			return nil
		}
		return ip
	case "site_url":
		if kind == "Postgres" {
			return nil
		}
		return ""
	case "person_properties":
		return nil
	}
	return timeIn(kind, r.Inserted) // …_ingested_timestamp
}

func (r Row) member(name string) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(r.Properties, &members) // valid
	return members[name]
}

func timeIn(kind string, at time.Time) string {
	at = at.UTC().Truncate(time.Microsecond)
	switch kind {
	case "BigQuery":
		return at.Format("2006-01-02 15:04:05.999999 UTC")
	case "Redshift":
		return at.Format("2006-01-02 15:04:05.999999-07")
	}
	return isoformat(at)
}

// elements is the chain in a table.
func elements(kind, chain string) string {
	switch kind {
	case "Redshift":
		return ""
	case "BigQuery", "Postgres": // a text of JSON: toJSONString, which Postgres has once more, as JSONB
		text, _ := json.Marshal(chain) //nolint:errchkjson // a text
		return string(text)
	}
	return chain
}

// object is the text of a JSON object in a column.
func object(kind string, text []byte, asStored bool) any {
	switch {
	case len(text) == 0:
		return nil
	case kind == "BigQuery", kind == "Redshift", kind == "Databricks": // texts
		return string(text)
	case kind == "Postgres":
		return json.RawMessage(jsonb(text))
	case IsFile(kind) && !asStored && hasHalf(text):
		return json.RawMessage(garbled(text))
	}
	return json.RawMessage(text)
}

// jsonb is an object as Postgres stores and writes it, after the service has removed the characters that Postgres
// refuses: NUL and halves of surrogate pairs.
//
// Source: destinations/postgres_batch_export.py remove_invalid_json.
func jsonb(text []byte) []byte {
	text = escapes(text, func(r rune) []byte {
		if r == 0 || utf16.IsSurrogate(r) {
			return []byte{}
		}
		return nil
	})
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	_ = decoder.Decode(&value)    // valid
	text, _ = json.Marshal(value) //nolint:errchkjson // was JSON
	return text
}

// hasHalf reports whether a text has half a surrogate pair.
func hasHalf(text []byte) (has bool) {
	escapes(text, func(r rune) []byte {
		has = has || utf16.IsSurrogate(r)
		return nil
	})
	return has
}

// garbled is the object in a line of JSON if its text has half a surrogate pair: the service reads the text as if it
// were Latin-1 with escapes, so it puts a question mark for each surrogate, and wrong letters for characters outside
// ASCII.
//
// Source: utils.py JsonScalar.as_py.
func garbled(text []byte) (b []byte) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c != '\\':
			b = utf8.AppendRune(b, rune(c))
		case text[i+1] != 'u':
			b = append(b, c, text[i+1])
			i++
		default:
			code, _ := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
			switch {
			case utf16.IsSurrogate(rune(code)):
				b = append(b, '?')
			case code < ' ', code == '"', code == '\\':
				b = append(b, text[i:i+6]...)
			default:
				b = utf8.AppendRune(b, rune(code))
			}
			i += 5
		}
	}
	return b
}

// escapes copies a text with other bytes for the escapes \u… for which the function gives some. A pair of surrogates is
// one character.
func escapes(text []byte, other func(rune) []byte) (b []byte) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b = append(b, text[i])
			continue
		}
		n := 2
		if text[i+1] == 'u' {
			n = 6
			code := unit(text[i:])
			if pair := utf16.DecodeRune(code, unit(text[i+n:])); pair != utf8.RuneError {
				n, code = 12, pair
			}
			if replaced := other(code); replaced != nil {
				b, i = append(b, replaced...), i+n-1
				continue
			}
		}
		b = append(b, text[i:i+n]...)
		i += n - 1
	}
	return b
}

// unit is the escape \u… that a text begins with, or -1.
func unit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	code, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(code)
}

// IsFile reports whether a kind of destination gets objects, and not rows of a table.
func IsFile(kind string) bool {
	switch kind {
	case "", "S3", "AwsS3", "S3Compatible", "AzureBlob":
		return true
	}
	return false
}
