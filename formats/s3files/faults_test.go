package s3files_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/s3files"
)

// A body that is cut off is read on at the byte where it ended.
func TestCutBodies(t *testing.T) {
	t.Parallel()
	s, content := newStorage(t), text(3<<20)
	s.put("a", content)
	s.setFault(s.cutEach(2))
	got, err := fs.ReadFile(s.files(""), "a")
	require.NoError(t, err)
	require.Equal(t, content, got)
	asked := s.asked()
	assert.Equal(t, []string{"bytes=0-262143", "bytes=262144-786431", "bytes=524288-786431"}, asked[:3])
}

// A storage that sends nothing any more is given up after some tries, and so is one that stalls.
func TestNothingMoreComes(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("a", text(1<<20))
	s.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "bytes=0-262143" && isRead(r) {
			s.answerPart(w, r, 1<<30)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	_, err := fs.ReadFile(s.files(""), "a")
	require.ErrorContains(t, err, "5 tries from byte 262144 on brought nothing")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Len(t, s.asked(), 1+5)

	s.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		if isRead(r) {
			s.answerPart(w, r, 1<<30)
			<-r.Context().Done()
		}
		return isRead(r)
	})
	_, err = fs.ReadFile(s.files("").Hurry(20*time.Millisecond, time.Millisecond), "a")
	require.ErrorContains(t, err, "5 tries from byte 0 on brought nothing")
}

// Closing a file, or the end of the context, ends a read that hangs.
func TestEndOfAHangingRead(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("a", text(100))
	reading := make(chan struct{}, 10)
	s.setFault(func(_ http.ResponseWriter, r *http.Request) bool {
		if isRead(r) {
			reading <- struct{}{}
			<-r.Context().Done()
		}
		return isRead(r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	files := s3files.New(ctx, s.client, bucket, "")
	hangs(t, files, reading, func(f fs.File) { _ = f.Close() }, fs.ErrClosed)
	hangs(t, files, reading, func(fs.File) { cancel() }, context.Canceled)
}

func hangs(t *testing.T, files fs.FS, reading <-chan struct{}, end func(fs.File), want error) {
	t.Helper()
	file, err := files.Open("a")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := file.Read(make([]byte, 10))
		ended <- err
	}()
	<-reading
	end(file)
	require.ErrorIs(t, <-ended, want)
}

// The client's own retries wait for a fault to pass.
func TestSlowDown(t *testing.T) {
	t.Parallel()
	s, content := newStorage(t), text(100)
	s.put("a", content)
	var n atomic.Int64
	s.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
		return n.Add(1)%3 != 0 && refuse(w, 503, "SlowDown", "Please reduce your request rate. "+secretKey)
	})
	got, err := fs.ReadFile(s.files(""), "a")
	require.NoError(t, err)
	require.Equal(t, content, got)

	s.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		return isRead(r) && refuse(w, 503, "SlowDown", "Please reduce your request rate. "+secretKey)
	})
	_, err = fs.ReadFile(s.files(""), "a")
	require.ErrorContains(t, err, "status 503, SlowDown")
	noKey(t, err)
}

// No half of one object is followed by the other half of another, whether the service knows
// If-Match or not.
func TestReplacedObjects(t *testing.T) {
	t.Parallel()
	for name, knows := range map[string]bool{"with If-Match": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStorage(t)
			s.put("a", text(1<<20))
			s.put("b", text(1<<20))
			files := s.files("")
			names, err := files.Glob("*")
			require.NoError(t, err)
			require.Len(t, names, 2)
			file, err := files.Open("a")
			require.NoError(t, err)
			_, err = file.Read(make([]byte, 10))
			require.NoError(t, err)

			s.put("a", append([]byte("x"), text(1<<20-1)...))
			s.put("b", append([]byte("x"), text(1<<20-1)...))
			s.setFault(func(w http.ResponseWriter, r *http.Request) bool {
				if !isRead(r) {
					return false
				}
				assert.NotEmpty(t, r.Header.Get("If-Match"))
				return knows && refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
			})
			_, err = io.ReadAll(file)
			require.ErrorIs(t, err, s3files.ErrReplaced)
			_, err = fs.ReadFile(files, "b")
			require.ErrorIs(t, err, s3files.ErrReplaced, "after it was listed, too")
		})
	}
}

// A service that sends other bytes than it was asked for is not believed.
func TestOtherRanges(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("a", text(1<<20))
	s.setFault(func(_ http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("Range")
		return false
	})
	_, err := fs.ReadFile(s.files(""), "a")
	require.ErrorContains(t, err, `was asked for "bytes 0-262143/1048576" of the object and sent ""`)
}

func noKey(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, secret := range []string{accessKey, secretKey, "http://", "Signature="} {
			assert.NotContains(t, err.Error(), secret)
		}
	}
}

// Refusals give advice, and show no text of the service.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("folder/a", text(10))
	for _, c := range []struct {
		status     int
		code, want string
		is         error
	}{
		{403, "AccessDenied", "access is denied: the credentials need s3:GetObject", fs.ErrPermission},
		{403, "InvalidAccessKeyId", "does not know the access key", fs.ErrPermission},
		{403, "SignatureDoesNotMatch", "the secret key is wrong", fs.ErrPermission},
		{400, "ExpiredToken", "have expired", fs.ErrPermission},
		{404, "NoSuchBucket", "there is no such bucket", fs.ErrNotExist},
		{403, "InvalidObjectState", "restore it first", nil},
		{301, "PermanentRedirect", "in another region", nil},
		{418, "Teapot", "status 418, Teapot", nil},
		{418, secretKey + "=", "status 418", nil},
	} {
		s.setFault(nil)
		files := s.files("folder")
		_, err := files.Glob("*")
		require.NoError(t, err)
		s.setFault(func(w http.ResponseWriter, r *http.Request) bool {
			return refuse(w, c.status, c.code, r.Header.Get("Authorization")+accessKey+secretKey)
		})
		_, inRead := fs.ReadFile(files, "a")
		_, inGlob := files.Glob("*")
		_, inReadDir := files.ReadDir(".")
		for _, err := range []error{inRead, inGlob, inReadDir} {
			require.ErrorContains(t, err, c.want, c.code)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			noKey(t, err)
		}
	}
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("folder/a", text(10))
	_, err := s.files("").Open("b")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "no such object")
	_, err = s3files.New(t.Context(), s.client, "another", "").Open("a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "no such bucket")
	_, err = s3files.New(t.Context(), s.client, "another", "").Glob("*")
	require.ErrorContains(t, err, "no such bucket")
	info, err := s.files("").Stat("folder")
	require.NoError(t, err)
	assert.True(t, info.IsDir())

	s.web.Close()
	_, err = s.files("").Open("a")
	require.ErrorContains(t, err, "the service did not answer")
	noKey(t, err)
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	options := s.client.Options()
	options.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("GET http://169.254.170.2/?token=" + secretKey)
	})
	_, err := s3files.New(t.Context(), s3.New(options), bucket, "").Glob("*")
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "no credentials")
	noKey(t, err)
}

// A request that is not answered in its time is made again.
func TestAnAnswerThatIsLate(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("a", text(1000))
	var hung atomic.Bool
	s.setFault(func(_ http.ResponseWriter, r *http.Request) bool {
		if !isRead(r) || hung.Swap(true) {
			return false
		}
		<-r.Context().Done()
		return true
	})
	got, err := fs.ReadFile(s.files("").Hurry(time.Second, time.Millisecond), "a")
	require.NoError(t, err)
	assert.Equal(t, text(1000), got)
	assert.True(t, hung.Load())
}
