package cli

import "strings"

// commandLine are the files and the options of an input as they can be typed.
func commandLine(in input) string {
	var words []string
	for _, path := range in.Files {
		words = append(words, quoted(path))
	}
	const most = 4 // of files that a shell has named
	if len(words) > most {
		words = append(words[:1], "...")
	}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, quoted(value))
		}
	}
	add("--format", in.Format)
	for _, m := range in.Map {
		add("--map", m)
	}
	add("--zone", in.Zone)
	add("--group-type", in.GroupType)
	if in.Devices {
		words = append(words, "--device-prefix")
	}
	add("--set-policy", in.SetPolicy)
	add("--until", in.Until)
	return strings.Join(words, " ")
}

// quoted is a word as a POSIX shell reads it.
func quoted(word string) string {
	isPlain := func(r rune) bool {
		return strings.ContainsRune("-_./=:@%+,*", r) || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !isPlain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
