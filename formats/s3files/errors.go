package s3files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// reason is an error of a request in words that name no key, no URL and nothing that the service
// wrote but its code.
type reason struct {
	text string
	is   error
}

func (e *reason) Error() string { return e.text }
func (e *reason) Unwrap() error { return e.is }

var errNoBucket = &reason{"there is no such bucket, or not in the client's region", fs.ErrNotExist}

var codes = map[string]error{
	"NoSuchBucket":       errNoBucket,
	"NoSuchKey":          &reason{"there is no such object", fs.ErrNotExist},
	"NotFound":           &reason{"there is no such object", fs.ErrNotExist},
	"PreconditionFailed": ErrReplaced,
	"InvalidRange":       ErrReplaced, // it has become shorter
	"InvalidObjectState": &reason{"the object is archived (InvalidObjectState): restore it first", nil},
	"AccessDenied":       ErrDenied,
	"Forbidden":          ErrDenied,
	"InvalidAccessKeyId": &reason{"the service does not know the access key (InvalidAccessKeyId)", fs.ErrPermission},
	"SignatureDoesNotMatch": &reason{
		"the secret key is wrong (SignatureDoesNotMatch)", fs.ErrPermission,
	},
	"ExpiredToken": &reason{"the credentials have expired (ExpiredToken): run again with new ones", fs.ErrPermission},
}

// ErrDenied is the error of a request that the credentials do not allow, which is an [fs.ErrPermission] too. Wrong or
// expired credentials are another error.
var ErrDenied error = &reason{
	"access is denied: the credentials need s3:GetObject on the objects and s3:ListBucket on the bucket; " +
		"without the latter a missing object is denied too", fs.ErrPermission,
}

// codeForm is the form of a code, so that no other text of the service is shown as one.
var codeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9.]{0,50}$`)

// plain is an error of the SDK without texts that may hold secrets.
func plain(err error) error {
	if err == nil {
		return nil
	}
	status := 0
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil && answer.Response.Response != nil {
		status = answer.HTTPStatusCode()
	}
	code := ""
	if api, ok := errors.AsType[smithy.APIError](err); ok && codeForm.MatchString(api.ErrorCode()) {
		code = api.ErrorCode()
	}
	switch known := codes[code]; {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case known != nil:
		return known
	case status == http.StatusPreconditionFailed:
		return ErrReplaced
	case status == http.StatusMovedPermanently:
		return errors.New("the bucket is in another region than the client (status 301)")
	case status != 0 && code != "":
		return fmt.Errorf("the service answered with status %d, %s", status, code)
	case status != 0:
		return fmt.Errorf("the service answered with status %d", status)
	case code != "":
		return fmt.Errorf("the service answered with %s", code)
	}
	return unanswered(err)
}

func unanswered(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	if of, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("the service did not answer: %w", of)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case strings.Contains(err.Error(), "get credentials"):
		return &reason{"the AWS SDK found no credentials, or could not renew them", fs.ErrPermission}
	}
	return fmt.Errorf("the request failed (%T)", innermost(err))
}

func innermost(err error) error {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err
}
