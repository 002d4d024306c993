package cli

type planFile struct{}
