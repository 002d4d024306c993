package amplitude

import (
	"regexp"
	"strings"
)

// languages are the codes of ISO 639 of the English names of languages, in small letters.
var languages = map[string]string{
	"afrikaans": "af", "albanian": "sq", "amharic": "am", "arabic": "ar", "armenian": "hy", "azerbaijani": "az", "basque": "eu",
	"belarusian": "be", "bengali": "bn", "bangla": "bn", "bosnian": "bs", "bulgarian": "bg", "burmese": "my", "catalan": "ca",
	"chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "estonian": "et",
	"filipino": "fil", "finnish": "fi", "french": "fr", "galician": "gl", "georgian": "ka", "german": "de", "greek": "el",
	"gujarati": "gu", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "icelandic": "is", "indonesian": "id", "irish": "ga",
	"italian": "it", "japanese": "ja", "kannada": "kn", "kazakh": "kk", "khmer": "km", "korean": "ko", "kurdish": "ku",
	"kyrgyz": "ky", "lao": "lo", "latvian": "lv", "lithuanian": "lt", "macedonian": "mk", "malay": "ms", "malayalam": "ml",
	"maltese": "mt", "marathi": "mr", "mongolian": "mn", "nepali": "ne", "norwegian": "no", "norwegian bokmål": "nb",
	"norwegian nynorsk": "nn", "persian": "fa", "polish": "pl", "portuguese": "pt", "punjabi": "pa", "romanian": "ro",
	"russian": "ru", "serbian": "sr", "sinhala": "si", "slovak": "sk", "slovenian": "sl", "somali": "so", "spanish": "es",
	"swahili": "sw", "swedish": "sv", "tagalog": "tl", "tamil": "ta", "telugu": "te", "thai": "th", "turkish": "tr",
	"ukrainian": "uk", "urdu": "ur", "uzbek": "uz", "vietnamese": "vi", "welsh": "cy", "zulu": "zu",
}

// languageCode is the code of a language that Amplitude has by its name, such as "en" of "English" and of "English (United
// States)". A code stays as it is, with "-" for "_". It is empty for other texts.
func languageCode(name string) string {
	base, _, _ := strings.Cut(strings.ToLower(name), "(")
	if code := languages[strings.TrimSpace(base)]; code != "" {
		return code
	}
	if code := strings.ReplaceAll(name, "_", "-"); isCode.MatchString(code) {
		return code
	}
	return ""
}

var isCode = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)
