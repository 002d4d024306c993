package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/formats/s3files"
	"github.com/hogapi/hogapi/reconcile"
)

// bucket opens the files below a prefix of a bucket.
func (r *reconciling) bucket(ctx context.Context, at string, exports []hogapi.BatchExport, covered []*coverage.Coverage, dir string) (*place, error) {
	name, prefix, _ := strings.Cut(at, "/")
	if name == "" || strings.ContainsAny(name, "@:?# ") {
		return nil, shell.UsageError("--to does not name a bucket", "write it as s3://bucket/prefix; set keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and the URL of another S3 service in --s3-endpoint")
	}
	client, err := r.storage(ctx)
	if err != nil {
		return nil, err
	}
	fsys := s3files.New(ctx, client, name, prefix)
	files, err := findAll(fsys)
	var note string
	if errors.Is(err, s3files.ErrDenied) {
		note = "the key may not list the bucket: only files named by the runs of the exports were read, and rows in other files do not count"
		files, err = named(fsys, prefix, exports, covered)
	}
	if err != nil {
		return nil, bucketFault(ctx, err)
	}
	p, err := r.filesAt(files, exports, covered, dir)
	if err == nil && note != "" {
		r.Note(note)
		p.notes = append(p.notes, note)
	}
	return p, err
}

// named finds the files of a bucket that may not be listed. One that is not there may have another name than the runs
// say: that is no proof that its rows are missing. One that is refused is found when it is read.
func named(fsys fs.FS, prefix string, exports []hogapi.BatchExport, covered []*coverage.Coverage) (*found, error) {
	files, seen := &found{fsys: fsys}, map[string]bool{}
	for i := range exports {
		names, err := reconcile.NamedObjects(fsys, prefix, &exports[i], covered[i])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			if _, err := fs.Stat(fsys, name); errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%w: a run wrote %s, but the bucket has no file of this name", reconcile.ErrCannotTell, term.Line(name))
			}
			files.add(name)
		}
	}
	return files, nil
}

// bucketFault explains why a bucket cannot be read.
func bucketFault(ctx context.Context, err error) error {
	cause := err
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		cause = at.Err
	}
	fault := func(code shell.Code, text, todo string) error {
		return &shell.Fault{Code: code, Text: text, Todo: todo, Err: err}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, reconcile.ErrCannotTell):
		why := strings.TrimPrefix(err.Error(), reconcile.ErrCannotTell.Error()+": ")
		return fault(shell.CodeCannot, "the key may not list the bucket, and the runs do not name its files: "+term.Line(why), "allow s3:ListBucket on the bucket")
	case errors.Is(err, fs.ErrPermission):
		return fault(shell.CodeProject, fmt.Sprintf("the bucket cannot be read: %v", cause), "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE and AWS_REGION")
	case errors.Is(err, fs.ErrNotExist):
		return fault(shell.CodeProject, fmt.Sprintf("the bucket cannot be read: %v", cause), "check the name of the bucket, AWS_REGION and --s3-endpoint")
	}
	return fault(shell.CodeProject, fmt.Sprintf("the bucket cannot be read: %v", cause), "check --s3-endpoint, AWS_REGION and the network, and run the same command again")
}

// storage returns a client of S3 with the settings of the AWS tools: their variables first, then the profile. It
// supports only credentials that need no other AWS service: the rest would make the program 2 MB larger.
func (r *reconciling) storage(ctx context.Context) (*s3.Client, error) {
	profile, err := r.profile(ctx)
	if err != nil {
		return nil, err
	}
	ofProfile, _, _ := profile.GetServiceBaseEndpoint(ctx, "S3")
	endpoint := cmp.Or(r.endpoint, r.Env("AWS_ENDPOINT_URL_S3"), r.Env("AWS_ENDPOINT_URL"), ofProfile, profile.BaseEndpoint)
	if at, err := url.Parse(endpoint); endpoint != "" && (err != nil || at.Host == "" || at.User != nil || at.Scheme != "http" && at.Scheme != "https") {
		return nil, shell.UsageError("--s3-endpoint is not the URL of a service", "write it as https://host:port, without keys: set them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	const anyRegion = "us-east-1" // to sign with; services of others take any
	options := s3.Options{Region: cmp.Or(r.Env("AWS_REGION"), r.Env("AWS_DEFAULT_REGION"), profile.Region, anyRegion)}
	if endpoint != "" {
		options.BaseEndpoint, options.UsePathStyle = &endpoint, true
	}
	if options.Credentials, err = r.keys(profile); err != nil {
		return nil, err
	}
	return s3.New(options), nil
}

// profile reads the files of the AWS tools.
func (r *reconciling) profile(ctx context.Context) (config.SharedConfig, error) {
	name := r.Env("AWS_PROFILE")
	profile, err := config.LoadSharedConfigProfile(ctx, cmp.Or(name, "default"), func(o *config.LoadSharedConfigOptions) {
		if path := r.Env("AWS_SHARED_CREDENTIALS_FILE"); path != "" {
			o.CredentialsFiles = []string{path}
		}
		if path := r.Env("AWS_CONFIG_FILE"); path != "" {
			o.ConfigFiles = []string{path}
		}
	})
	if _, isAbsent := errors.AsType[config.SharedConfigProfileNotExistError](err); isAbsent && name == "" {
		return profile, nil
	}
	if err != nil { // its text may have lines of the files
		return profile, &shell.Fault{Code: shell.CodeProject, Text: "the AWS profile cannot be read", Todo: "check AWS_PROFILE, and the files in ~/.aws", Err: err}
	}
	return profile, nil
}

// keys returns the access keys, or the way to get them.
func (r *reconciling) keys(profile config.SharedConfig) (aws.CredentialsProvider, error) {
	id, secret := r.Env("AWS_ACCESS_KEY_ID"), r.Env("AWS_SECRET_ACCESS_KEY")
	full, relative := r.Env("AWS_CONTAINER_CREDENTIALS_FULL_URI"), r.Env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
	switch {
	case id != "" && secret != "":
		return credentials.NewStaticCredentialsProvider(id, secret, r.Env("AWS_SESSION_TOKEN")), nil
	case profile.Credentials.HasKeys():
		return credentials.StaticCredentialsProvider{Value: profile.Credentials}, nil
	case r.Env("AWS_WEB_IDENTITY_TOKEN_FILE") != "", r.Env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") != "",
		cmp.Or(profile.RoleARN, profile.SSOSessionName, profile.SSOStartURL, profile.CredentialProcess, profile.LoginSession) != "":
		return nil, &shell.Fault{
			Code: shell.CodeProject, Text: "the AWS profile has no keys: it uses a role, a login or a program",
			Todo: `export the keys first: eval "$(aws configure export-credentials --format env)"`,
		}
	case full != "" || relative != "":
		const containers = "http://169.254.170.2"
		if full == "" {
			full = containers + relative
		}
		return aws.NewCredentialsCache(endpointcreds.New(full, func(o *endpointcreds.Options) {
			o.AuthorizationToken = r.Env("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		})), nil
	}
	return aws.NewCredentialsCache(ec2rolecreds.New()), nil
}
