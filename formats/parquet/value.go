package parquet

import (
	"encoding/base64"
	"errors"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hogapi/hogapi/internal/jsonb"
)

type appender func(dst []byte, v parquetgo.Value) ([]byte, error)

var errUTF8 = errors.New("a text that is not UTF-8")

func appenderOf(t parquetgo.Type) appender {
	if logical := t.LogicalType(); logical != nil {
		switch l := logical.Value.(type) {
		case *format.TimestampType:
			return timestamps(l)
		case *format.DateType:
			return appendDate
		case *format.DecimalType:
			return decimals(int(l.Scale))
		case *format.UUIDType:
			return appendUUID
		case *format.IntType:
			if !l.IsSigned {
				return unsigned(t.Kind())
			}
		case *format.StringType, *format.JsonType, *format.EnumType:
			return appendText
		}
	}
	switch t.Kind() {
	case parquetgo.Boolean:
		return func(dst []byte, v parquetgo.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Boolean()), nil }
	case parquetgo.Int32:
		return func(dst []byte, v parquetgo.Value) ([]byte, error) {
			return strconv.AppendInt(dst, int64(v.Int32()), 10), nil
		}
	case parquetgo.Int64:
		return func(dst []byte, v parquetgo.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int64(), 10), nil }
	case parquetgo.Int96:
		return appendInt96
	case parquetgo.Float:
		return func(dst []byte, v parquetgo.Value) ([]byte, error) {
			return appendFloat(dst, float64(v.Float()), 32), nil
		}
	case parquetgo.Double:
		return func(dst []byte, v parquetgo.Value) ([]byte, error) { return appendFloat(dst, v.Double(), 64), nil }
	case parquetgo.ByteArray, parquetgo.FixedLenByteArray:
	}
	return appendBytes
}

// appendFloat appends a number, or a text such as "NaN" where JSON has no number.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(strconv.AppendFloat(append(dst, '"'), f, 'g', -1, bits), '"')
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

func unsigned(kind parquetgo.Kind) appender {
	if kind == parquetgo.Int32 {
		return func(dst []byte, v parquetgo.Value) ([]byte, error) {
			return strconv.AppendUint(dst, uint64(v.Uint32()), 10), nil
		}
	}
	return func(dst []byte, v parquetgo.Value) ([]byte, error) {
		return strconv.AppendUint(dst, v.Uint64(), 10), nil
	}
}

// timestamps are written in UTC, also the ones without a zone.
func timestamps(t *format.TimestampType) appender {
	at := timeIn(t)
	return func(dst []byte, v parquetgo.Value) ([]byte, error) { return appendTime(dst, at(v.Int64())), nil }
}

// timeIn reads a number of milliseconds, microseconds or nanoseconds since 1970.
func timeIn(t *format.TimestampType) func(int64) time.Time {
	switch t.Unit.Value.(type) {
	case *format.MilliSeconds:
		return time.UnixMilli
	case *format.MicroSeconds:
		return time.UnixMicro
	}
	return func(n int64) time.Time { return time.Unix(n/1e9, n%1e9) }
}

func appendTime(dst []byte, at time.Time) []byte {
	return append(at.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}

func appendDate(dst []byte, v parquetgo.Value) ([]byte, error) {
	const day = 24 * 60 * 60
	return append(time.Unix(int64(v.Int32())*day, 0).UTC().AppendFormat(append(dst, '"'), time.DateOnly), '"'), nil
}

func appendInt96(dst []byte, v parquetgo.Value) ([]byte, error) {
	return appendTime(dst, int96Time(v)), nil
}

// int96Time reads a time as older programs write it: nanoseconds of a day, and the Julian day.
func int96Time(v parquetgo.Value) time.Time {
	const day, julian1970 = 24 * 60 * 60, 2_440_588
	i := v.Int96()
	nanos := int64(uint64(i[1])<<32 | uint64(i[0]))
	return time.Unix((int64(i[2])-julian1970)*day, nanos).UTC()
}

// decimals are written as texts with all their digits.
func decimals(scale int) appender {
	return func(dst []byte, v parquetgo.Value) ([]byte, error) {
		n := new(big.Int)
		switch v.Kind() {
		case parquetgo.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquetgo.Int64:
			n.SetInt64(v.Int64())
		default:
			raw := v.ByteArray()
			n.SetBytes(raw)
			if len(raw) > 0 && raw[0]&0x80 != 0 { // two's complement
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
			}
		}
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		text := new(big.Rat).SetFrac(n, unit).FloatString(scale)
		return append(append(append(dst, '"'), text...), '"'), nil
	}
}

func appendUUID(dst []byte, v parquetgo.Value) ([]byte, error) {
	id, err := uuid.FromBytes(v.ByteArray())
	if err != nil {
		return appendBytes(dst, v)
	}
	return append(append(append(dst, '"'), id.String()...), '"'), nil
}

func appendText(dst []byte, v parquetgo.Value) ([]byte, error) {
	out, err := jsonb.AppendString(dst, string(v.ByteArray()))
	if err != nil {
		return dst, errUTF8
	}
	return out, nil
}

// valuesOr appends bytes that are JSON as they are, and others as texts do.
func valuesOr(texts appender) appender {
	return func(dst []byte, v parquetgo.Value) ([]byte, error) {
		if kind := v.Kind(); kind != parquetgo.ByteArray || jsonb.Valid(v.ByteArray()) != nil {
			return texts(dst, v)
		}
		return append(dst, v.ByteArray()...), nil
	}
}

// appendBytes appends bytes of no known type: a text if they are one, else in base64.
func appendBytes(dst []byte, v parquetgo.Value) ([]byte, error) {
	raw := v.ByteArray()
	if utf8.Valid(raw) {
		return appendText(dst, v)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"'), nil
}
