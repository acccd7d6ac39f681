# Writes tc-troubleshooting(7) from cmd/troubles.txt.
BEGIN {
    FS = "\t"
    print ".Dd November 30, 2026\n.Dt TC-TROUBLESHOOTING 7\n.Os tc\n.Sh NAME\n.Nm tc-troubleshooting\n.Nd what errors usually mean and what to do"
    print ".Sh DESCRIPTION\nAn error is one line: program, file, place, what was found and what was expected."
    print "Where its cause is common, a second line says what it usually means and what to do; with\n.Fl Fl json\nit is the key help."
    print "Below errors about the content of files (exit 3 and 5) it stands on a terminal or with\n.Fl v ,\nsince scripts count on one line for each file that is refused."
    print "These are the errors, by a part of their text in which ... stands for what differs, with that line.\nErrors of a model's source have identifiers instead, which\n.Xr tc-model 7\nexplains."
    print ".Bl -tag -width 2n"
}
{
    part = $1
    gsub(/\*/, " ... ", part)
    gsub(/  +/, " ", part)
    sub(/^ +/, "", part)
    gsub(/"/, "\\(dq", part)
    gsub(/"/, "\\(dq", $2)
    if ($2 ~ /^[a-z]+[ ,:]/) $2 = toupper(substr($2, 1, 1)) substr($2, 2)
    printf ".It \"%s\"\n%s.\n", part, $2
}
END { print ".El\n.Sh SEE ALSO\n.Xr tc-intro 7 ,\n.Xr tc-model 7" }
