package formats

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// SessionID returns the $session_id of a session that began at a time: a UUID of version 7, as PostHog needs it.
// Its time is the start in milliseconds, rounded down. Its other bits are a hash of the device and of the id that
// the session has there, so it is the same on every run. session may be empty where one device has no two sessions
// of one start.
//
// PostHog wants more of a session, which the caller must see to: all its events have one id, no event is before
// the start, and each is less than 24 hours after it. A session_id of other events is ignored.
//
// A start before 1970 or after the year 10889 has no such id: the result is zero.
func SessionID(start time.Time, device, session string) uuid.UUID {
	const timeBits, version, variant = 48, 0x70, 0x80
	ms := start.UnixMilli()
	if start.Unix() < 0 || ms>>timeBits != 0 {
		return uuid.Nil
	}
	var room [128]byte // for most ids
	text := append(room[:0], sessionSpace[:]...)
	text = binary.BigEndian.AppendUint64(text, uint64(len(device)))
	text = append(append(text, device...), session...)
	sum := sha256.Sum256(text)
	id := uuid.UUID(sum[:16])
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|uint64(binary.BigEndian.Uint16(sum[6:8])))
	id[6] = id[6]&0x0f | version
	id[8] = id[8]&0x3f | variant
	return id
}

// sessionSpace is the namespace of the ids of sessions.
var sessionSpace = uuid.MustParse("5d0f1c7e-9f6a-5c1b-8f43-2a6f0f3b7c11")
