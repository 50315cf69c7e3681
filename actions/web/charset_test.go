package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPageIsReadInItsCharsetAsBrowsersDo(t *testing.T) {
	late := "<p>" + strings.Repeat("ascii ", 300) + "</p>"
	for name, c := range map[string]struct{ kind, body, want string }{
		"windows-1252 header":            {"text/html; charset=windows-1252", "<p>caf\xe9 \x80</p>", "café €"},
		"iso-8859-1 header":              {"text/html; charset=iso-8859-1", "<p>caf\xe9 \x80</p>", "café €"},
		"gb18030 meta":                   {"text/html", `<meta charset="gb18030"><p>` + "\xd6\xd0\xce\xc4" + `</p>`, "中文"},
		"gbk http-equiv":                 {"text/html", `<meta http-equiv="Content-Type" content="text/html; charset=gbk"><p>` + "\xd6\xd0" + `</p>`, "中"},
		"shift_jis header":               {"text/html;charset=Shift_JIS", "<p>\x93\xfa\x96\x7b</p>", "日本"},
		"euc-kr header":                  {"text/html;charset=euc-kr", "<p>\xc7\xd1</p>", "한"},
		"utf-16le BOM":                   {"text/html", "\xff\xfe<\x00p\x00>\x00\x2d\x4e\x87\x65", "中文"},
		"utf-16be BOM":                   {"text/html", "\xfe\xff\x00<\x00p\x00>\x4e\x2d\x65\x87", "中文"},
		"BOM beats header":               {"text/html; charset=windows-1252", "\xef\xbb\xbf<p>café</p>", "café"},
		"header beats meta":              {"text/html; charset=utf-8", `<meta charset="gbk"><p>café</p>`, "café"},
		"nothing, UTF-8":                 {"text/html", "<p>café</p>", "café"},
		"nothing, late UTF-8":            {"text/html", late + "<p>café</p>", "café"},
		"nothing, late legacy":           {"text/html", late + "<p>caf\xe9</p>", "café"},
		"unknown charset":                {"text/html; charset=klingon", "<p>café</p>", "café"},
		"nothing, legacy":                {"text/html", "<p>caf\xe9 \x80</p>", "café €"},
		"nothing, ASCII":                 {"text/html", "<p>plain</p>", "plain"},
		"meta after 1 KiB":               {"text/html", "<!--" + late + `--><meta charset=gbk><p>` + "\xd6\xd0</p>", "中"},
		"http-equiv after 1 KiB":         {"text/html", "<!--" + late + `--><META http-equiv=content-type content='text/html; charset=Shift_JIS'><p>` + "\x93\xfa</p>", "日"},
		"meta in the body is none":       {"text/html", "<!--" + late + `--><body><meta charset=gbk><p>` + "caf\xe9</p>", "café"},
		"meta in a comment is none":      {"text/html", "<!--" + late + `<meta charset=gbk>--><p>` + "caf\xe9</p>", "café"},
		"late meta, UTF-8 all the same":  {"text/html", "<!--" + late + `--><meta charset=gbk><p>café</p>`, "café"},
		"late meta says UTF-16":          {"text/html", "<!--" + late + `--><meta charset=utf-16><p>` + "caf\xe9</p>", "caf\uFFFD"},
		"XML declaration":                {"application/xhtml+xml", `<?xml version="1.0" encoding="EUC-KR"?><p>` + "\xc7\xd1</p>", "한"},
		"XML declaration of UTF-16":      {"text/html", `<?xml version="1.0" encoding="utf-16"?><p>` + "caf\xe9!</p>", "caf\uFFFD!"},
		"meta beats XML declaration":     {"text/html", `<?xml version="1.0" encoding="EUC-KR"?><meta charset=gbk><p>` + "\xd6\xd0</p>", "中"},
		"XML in UTF-16LE":                {"text/html", "<\x00?\x00x\x00?\x00>\x00\x2d\x4e", "中"},
		"XML in UTF-16BE":                {"text/html", "\x00<\x00?\x00x\x00?\x00>\x4e\x2d", "中"},
		"windows-1252 meta, UTF-8":       {"text/html", `<meta charset=iso-8859-1><p>café</p>`, "café"},
		"utf-16 without its last byte":   {"text/html;charset=utf-16le", "\x2d\x4e\x87", "中\uFFFD"},
		"utf-7 is no charset":            {"text/html;charset=utf-7", "<p>+ADw-script+AD4-</p>", "+ADw-script+AD4-"},
		"a charset that nobody may read": {"text/html;charset=iso-2022-kr", "<p>evil</p>", "\uFFFD"},
		"wrong UTF-8":                    {"text/html; charset=utf-8", "<p>caf\xe9!</p>", "caf\uFFFD!"},
	} {
		t.Run(name, func(t *testing.T) {
			f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				_, _ = w.Write([]byte(c.body))
			})
			p, err := f.Do(t.Context(), visit(t, url))
			require.NoError(t, err)
			assert.Contains(t, p.Markdown(), c.want)
			assert.NotContains(t, p.HTML(), "\uFEFF")
			assert.True(t, strings.ToValidUTF8(p.HTML(), "") == p.HTML())
		})
	}
}
